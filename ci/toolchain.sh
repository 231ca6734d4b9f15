# shellcheck shell=bash
# Finds or installs what the checks need: packages, components of Rust, and a compiler and linker for bare targets.
# Sourced by ci.sh.

have() { command -v "$1" >/dev/null 2>&1; }

require_rust() {
    have cargo || die "cargo is not installed: install Rust with rustup first"
    have rustup || die "rustup is not installed: it is needed to add components and targets"
    cargo --version
    rustc --version
}

# component NAME SUBCOMMAND: adds a rustup component unless its cargo subcommand works.
component() {
    cargo "$2" --version 2>/dev/null || rustup component add "$1" || die "$1 is missing and rustup can't add it"
}

apt_is_current=no

install_packages() {
    have apt-get || die "please install $*: this system has no apt-get"
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        have sudo || die "please install $*: this is not root, and there is no sudo"
        as_root=(sudo)
    fi
    if [ "$apt_is_current" = no ]; then
        "${as_root[@]}" apt-get update -qq
        apt_is_current=yes
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@"
}

device_tools() {
    require_rust
    have qemu-system-arm || install_packages qemu-system-arm
    qemu-system-arm --version | head -n 1
    have arm-none-eabi-gcc || install_packages gcc-arm-none-eabi
    arm-none-eabi-gcc --version | head -n 1
    choose_device_toolchain
}

# What `device_cargo` adds to the environment and to the command line. One unit of code: with several, the thin LTO of Rust 1.95
# forgets that a Cortex-M33 has the DSP instructions.
device_environment=(CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1)
device_options=()
device_toolchain=none

choose_device_toolchain() {
    case "${ZHAT_DEVICE_TOOLCHAIN:-}" in
    rustup) add_rustup_targets || die "rustup can't add the device targets" ;;
    debian) use_debian_toolchain ;;
    "")
        if ! add_rustup_targets; then
            echo "rustup can't add the device targets: Debian's compiler instead"
            use_debian_toolchain
        fi
        ;;
    *) die "ZHAT_DEVICE_TOOLCHAIN is rustup or debian, not $ZHAT_DEVICE_TOOLCHAIN" ;;
    esac
    printf 'device toolchain: %s\n' "$device_toolchain"
}

all_targets() {
    local board
    {
        printf '%s\n' "${BARE_TARGETS[@]}"
        for board in "${BOARDS[@]}"; do echo "${board% *}"; done
    } | sort -u
}

add_rustup_targets() {
    local missing
    missing=$(comm -23 <(all_targets) <(rustup target list --installed | sort)) || return 1
    if [ -n "$missing" ]; then
        # Where downloads are silently dropped, rustup would wait for long.
        # shellcheck disable=SC2086 # one word for each target
        timeout 300 rustup target add $missing || return 1
    fi
    device_toolchain="rustup, $(rustc --version)"
}

use_debian_toolchain() {
    local compiler=/usr/bin/rustc packages=(rustc-web rust-web-src lld) package missing=() linker
    for package in "${packages[@]}"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ "${#missing[@]}" -eq 0 ] || install_packages "${missing[@]}"

    # rustup's linker is as new as the compiler; Debian's may be years older.
    linker=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/rust-lld
    [ -x "$linker" ] || linker=ld.lld

    # The library is built from source, which a stable compiler does only when told that it may.
    device_environment+=(RUSTC="$compiler" RUSTC_BOOTSTRAP=1)
    device_options=(
        -Z build-std=core,alloc
        --config "target.'cfg(all(target_arch = \"arm\", target_os = \"none\"))'.linker = '$linker'"
    )
    device_toolchain="Debian, $("$compiler" --version), linker $linker"
}

# cargo for a device. A caller's RUSTFLAGS would replace the linker script of .cargo/config.toml.
device_cargo() {
    env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS CARGO_TARGET_DIR="$DEVICE_DIR" "${device_environment[@]}" \
        cargo "$1" "${device_options[@]}" "${@:2}"
}
