# shellcheck shell=bash
# Cycles of a query on a Cortex-M4F: QEMU runs examples with the plugin of ci/cycles, whose source states what its
# figures mean. Sourced by ci.sh.

CYCLES_DIR=$DEVICE_DIR/cycles
M4=thumbv7em-none-eabihf

cycles() {
    step "plugin that prices instructions" cycles_plugin
    step "cycles counted by hand" cycles_by_hand
    step "cycles of a query" cycles_of_queries
    step "limits of cycles" env ZHAT_CYCLES="$CYCLES_DIR" \
        cargo test --quiet --features "$HOST_FEATURES" --test cycles -- --ignored
}

cycles_plugin() {
    mkdir -p "$CYCLES_DIR"
    cc -O2 -Wall -Wextra -shared -fPIC -o "$CYCLES_DIR/plugin.so" ci/cycles/cycles.c
}

# priced FILE NAME: runs a program with the plugin, which writes NAME.json.
priced() {
    timeout 120 qemu-system-arm -machine mps2-an386 -nographic -monitor none -serial none -icount shift=0 \
        -semihosting-config enable=on,target=native -kernel "$1" \
        -plugin "$CYCLES_DIR/plugin.so,out=$CYCLES_DIR/$2.json" </dev/null
}

# tests/cycles.rs compares the result with the numbers in the source.
cycles_by_hand() {
    arm-none-eabi-gcc -nostdlib -mcpu=cortex-m4 -Wl,-Ttext=0 -Wl,-e0 -o "$CYCLES_DIR/by_hand.elf" ci/cycles/by_hand.s
    priced "$CYCLES_DIR/by_hand.elf" by_hand
}

cycles_of_queries() {
    local large='target.thumbv7em-none-eabihf.rustflags=["-Clink-arg=--defsym=_flash_length=4194304"]' size
    # With debug information: the profile names functions that were not inlined.
    device_cargo build --quiet --release --target $M4 --example cycles
    priced "$DEVICE_DIR/$M4/release/examples/cycles" next_word >/dev/null
    print_cycles next_word 1 "8 192 x 64, default" "$DEVICE_DIR/$M4/release/examples/cycles"
    print_cycles next_word 2 "8 192 x 64, exact" "$DEVICE_DIR/$M4/release/examples/cycles"
    device_cargo build --quiet --release --target $M4 --example keywords --features keywords
    priced "$DEVICE_DIR/$M4/release/examples/keywords" keywords >/dev/null
    print_cycles keywords 1 "5 101 x 128 (keywords), default" "$DEVICE_DIR/$M4/release/examples/keywords"
    # Layers that `./ci.sh device` made, if it ran.
    for size in "$SIZES_DIR"/*x*.zhat; do
        [ -e "$size" ] || continue
        ZHAT_MODEL=$size ZHAT_QUERIES=${size%.zhat}-queries.bin \
            device_cargo build --quiet --release --target $M4 --example cycles --config "$large"
        size=$(basename "$size" .zhat)
        priced "$DEVICE_DIR/$M4/release/examples/cycles" "$size" >/dev/null
        print_cycles "$size" 1 "$size, default"
        print_cycles "$size" 2 "$size, exact"
    done
}

# print_cycles NAME REGION TITLE [FILE]: prints the means of a region as a row of a table and, of a program in FILE, the
# functions that take the most.
print_cycles() {
    local field='function field(name) { match($0, "\"" name "\":[0-9]+"); return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) + 0 }'
    grep "\"region\":$2,\"calls\"" "$CYCLES_DIR/$1.json" | awk -v title="$3" "$field"'
        { n = field("calls"); c = field("cycles")
          printf "| %s | %d queries | %d instructions | %d cycles without wait states (%d to %d) | %d like STM32F4 | %d to %d like nRF52 |\n",
              title, n, field("instructions") / n, c / n, field("least"), field("most"), (c + field("f4")) / n,
              (c + 2 * field("lines")) / n, (c + 2 * field("words")) / n }'
    [ $# -lt 4 ] && return
    {
        arm-none-eabi-nm --numeric-sort --print-size --demangle --defined-only "$4" | sed 's/\[[0-9a-f]\{8,\}\]//g' |
            awk 'NF > 3 && $3 ~ /[tTwW]/ { $3 = ""; print }'
        grep "\"region\":$2,\"[cp]" "$CYCLES_DIR/$1.json"
    } | awk "$field"'
        function hex(text,  value, i) {
            for (i = 1; i <= length(text); i++) value = 16 * value + index("0123456789abcdef", substr(text, i, 1)) - 1
            return value
        }
        !/"region"/ { start[++symbols] = hex($1); $1 = $2 = ""; name[symbols] = $0; next }
        /"calls"/ { calls = field("calls"); all = field("cycles"); next }
        {
            while (at < symbols && start[at + 1] <= field("pc")) at++
            cycles[at] += field("cycles")
            instructions[at] += field("count")
            if (start[at] == field("pc")) entries[at] = field("count")
        }
        END {
            for (at in cycles)
                if (cycles[at] >= all / 200)
                    printf "    %5.1f %% %8.0f cycles %8.0f instructions %7.1f calls %s\n", 100 * cycles[at] / all,
                        cycles[at] / calls, instructions[at] / calls, entries[at] / calls, substr(name[at], 1, 110)
        }' | sort -rn
}
