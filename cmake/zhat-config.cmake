# The target zhat::zhat, and zhat_add_model(). Found by add_subdirectory(zhat), or by find_package(zhat) with
# -Dzhat_DIR=.../zhat/cmake, in a clone and in a folder that ci/package_c.sh made alike.
#
#   ZHAT_TARGET        the Rust target, if it is not the one that the compiler's flags say
#   ZHAT_PREBUILT      a folder with the library for several targets, in the place of cargo
#   ZHAT_FEATURES      features of the library besides capi: rows4 for models of 4-bit rows
#   ZHAT_COMMAND       the zhat command, for zhat_add_model: by default the one on the PATH, else cargo builds it
#   ZHAT_CARGO         the words in the place of `cargo`
#   ZHAT_CARGO_OPTIONS more words for it, such as -Zbuild-std=core
#   ZHAT_CARGO_DIR     where cargo builds, for projects that share it

if(TARGET zhat::zhat)
  return()
endif()

get_filename_component(ZHAT_ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
if(EXISTS "${ZHAT_ROOT}/lib" AND NOT EXISTS "${ZHAT_ROOT}/Cargo.toml")
  set(ZHAT_PREBUILT "${ZHAT_ROOT}" CACHE PATH "A folder with the library for several targets")
else()
  set(ZHAT_PREBUILT "" CACHE PATH "A folder with the library for several targets, in the place of cargo")
endif()
set(ZHAT_TARGET "" CACHE STRING "The Rust target; empty for the one of the compiler")
set(ZHAT_FEATURES "" CACHE STRING "Features of the library besides capi")
set(ZHAT_CARGO "" CACHE STRING "The words in the place of cargo")
set(ZHAT_CARGO_OPTIONS "" CACHE STRING "More words for cargo")
set(ZHAT_CARGO_DIR "" CACHE PATH "Where cargo builds; empty for the project's own folder")
# For zhat_add_model(), which is called from other folders.
set(ZHAT_ROOT "${ZHAT_ROOT}" CACHE INTERNAL "")

# ZHAT_COMPILER_FLAGS are more flags that choose the processor, where a framework keeps them elsewhere.

# Sets `out` to the Rust target of the C compiler with its flags, `is_host` to whether it is this machine, and `dsp` to whether the
# processor has Arm's DSP instructions where the target leaves that open.
function(zhat_find_target out is_host dsp)
  set(${is_host} FALSE PARENT_SCOPE)
  set(${dsp} FALSE PARENT_SCOPE)
  if(ZHAT_TARGET)
    set(${out} "${ZHAT_TARGET}" PARENT_SCOPE)
    return()
  endif()
  if(NOT CMAKE_CROSSCOMPILING)
    set(${is_host} TRUE PARENT_SCOPE)
    set(processor "${CMAKE_HOST_SYSTEM_PROCESSOR}")
    if(processor STREQUAL "arm64")
      set(processor "aarch64")
    elseif(processor STREQUAL "AMD64")
      set(processor "x86_64")
    endif()
    if(APPLE)
      set(${out} "${processor}-apple-darwin" PARENT_SCOPE)
    elseif(WIN32)
      set(${out} "${processor}-pc-windows-msvc" PARENT_SCOPE)
    else()
      set(${out} "${processor}-unknown-linux-gnu" PARENT_SCOPE)
    endif()
    return()
  endif()

  # What the compiler says of itself. Flags are those of the toolchain file and of add_compile_options() before this.
  if(CMAKE_C_COMPILER)
    set(compiler "${CMAKE_C_COMPILER}")
    separate_arguments(flags UNIX_COMMAND "${CMAKE_C_FLAGS}")
    set(language c)
  else()
    set(compiler "${CMAKE_CXX_COMPILER}")
    separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
    set(language c++)
  endif()
  get_property(options DIRECTORY PROPERTY COMPILE_OPTIONS)
  # Only what chooses the processor: others may be generator expressions, or not for the preprocessor.
  set(options ${flags} ${options} ${ZHAT_COMPILER_FLAGS})
  list(FILTER options INCLUDE REGEX "^(-m|--target)")
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/zhat-empty.c" "")
  execute_process(
    COMMAND "${compiler}" ${options} -dM -E -x ${language} "${CMAKE_CURRENT_BINARY_DIR}/zhat-empty.c"
    OUTPUT_VARIABLE macros RESULT_VARIABLE status ERROR_VARIABLE message)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "zhat: ${compiler} does not say what it compiles for (set ZHAT_TARGET): ${message}")
  endif()
  set(macros "\n${macros}")

  set(hard "")
  if(macros MATCHES "\n#define __ARM_PCS_VFP ")
    set(hard "hf")
  endif()
  if(macros MATCHES "\n#define __ARM_ARCH_6M__ ")
    set(found thumbv6m-none-eabi)
  elseif(macros MATCHES "\n#define __ARM_ARCH_7M__ ")
    set(found thumbv7m-none-eabi)
  elseif(macros MATCHES "\n#define __ARM_ARCH_7EM__ ")
    set(found thumbv7em-none-eabi${hard})
  elseif(macros MATCHES "\n#define __ARM_ARCH_8M_BASE__ ")
    set(found thumbv8m.base-none-eabi)
  elseif(macros MATCHES "\n#define __ARM_ARCH_8(_1)?M_MAIN__ ")
    set(found thumbv8m.main-none-eabi${hard})
  elseif(macros MATCHES "\n#define __riscv_xlen 32\n")
    if(macros MATCHES "\n#define __riscv_float_abi_double " OR macros MATCHES "\n#define __riscv_32e ")
      message(FATAL_ERROR "zhat: no Rust target has this RISC-V ABI (ilp32 and ilp32f have one): set ZHAT_TARGET")
    elseif(macros MATCHES "\n#define __riscv_float_abi_single ")
      set(found riscv32imafc-unknown-none-elf)
    elseif(NOT macros MATCHES "\n#define __riscv_compressed ")
      set(found riscv32im-unknown-none-elf)
    elseif(macros MATCHES "\n#define __riscv_atomic ")
      set(found riscv32imac-unknown-none-elf)
    else()
      set(found riscv32imc-unknown-none-elf)
    endif()
  else()
    message(FATAL_ERROR "zhat: ${compiler} ${options} compiles for a processor that this file does not know: set ZHAT_TARGET")
  endif()
  if(found MATCHES "^thumbv8m.main" AND macros MATCHES "\n#define __ARM_FEATURE_DSP 1\n")
    set(${dsp} TRUE PARENT_SCOPE)
  endif()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# Sets `out` to the words that call cargo; to nothing where there is none.
function(zhat_find_cargo out)
  if(ZHAT_CARGO)
    set(${out} ${ZHAT_CARGO} PARENT_SCOPE)
    return()
  endif()
  find_program(ZHAT_CARGO_PROGRAM cargo HINTS "$ENV{HOME}/.cargo/bin" NO_CMAKE_FIND_ROOT_PATH)
  mark_as_advanced(ZHAT_CARGO_PROGRAM)
  if(ZHAT_CARGO_PROGRAM)
    set(${out} "${ZHAT_CARGO_PROGRAM}" PARENT_SCOPE)
  else()
    set(${out} "" PARENT_SCOPE)
  endif()
endfunction()

function(zhat_add_library)
  zhat_find_target(target is_host dsp)
  zhat_find_cargo(cargo)
  add_library(zhat::zhat STATIC IMPORTED GLOBAL)
  if(ZHAT_PREBUILT)
    set(library "${ZHAT_PREBUILT}/lib/${target}/libzhat.a")
    set(include "${ZHAT_PREBUILT}/include")
    if(NOT EXISTS "${library}")
      file(GLOB known RELATIVE "${ZHAT_PREBUILT}/lib" "${ZHAT_PREBUILT}/lib/*")
      string(REPLACE ";" ", " known "${known}")
      message(FATAL_ERROR "zhat: ${ZHAT_PREBUILT} has no library for ${target}, but for ${known}")
    endif()
    if(target STREQUAL "thumbv8m.main-none-eabihf" AND NOT dsp)
      message(FATAL_ERROR "zhat: the prebuilt library for ${target} needs the DSP instructions, which the compiler's flags leave out")
    endif()
    message(STATUS "zhat: ${target}, prebuilt")
  elseif(cargo AND EXISTS "${ZHAT_ROOT}/Cargo.toml")
    set(features capi ${ZHAT_FEATURES})
    set(folder "${ZHAT_CARGO_DIR}")
    if(NOT folder)
      set(folder "${CMAKE_CURRENT_BINARY_DIR}/zhat-cargo")
    endif()
    set(include "${ZHAT_ROOT}/src/capi")
    if(is_host)
      # A library for a host has the standard library's panic handler.
      list(APPEND features std)
      set(library "${folder}/release/libzhat.a")
      set(for_target "")
      set(one_unit "")
    else()
      set(library "${folder}/${target}/release/libzhat.a")
      set(for_target --target ${target})
      # Before Rust 1.96 the DSP instructions of a Cortex-M33 are refused where a crate is compiled in several units.
      set(one_unit --config profile.release.codegen-units=1)
      # And not the flags for this repository's own boards.
      set(flags "")
      if(dsp)
        set(flags "-Ctarget-cpu=cortex-m33")
      endif()
      set(cargo "${CMAKE_COMMAND}" -E env "RUSTFLAGS=${flags}" ${cargo})
    endif()
    string(REPLACE ";" "," features "${features}")
    # cargo knows best whether there is anything to do: it is asked at each build.
    add_custom_target(zhat-build
      COMMAND ${cargo} rustc --quiet --release --lib --crate-type staticlib --features ${features} ${for_target}
        --target-dir "${folder}" ${one_unit} ${ZHAT_CARGO_OPTIONS} -- --cfg zhat_staticlib
      BYPRODUCTS "${library}"
      WORKING_DIRECTORY "${ZHAT_ROOT}"
      COMMENT "Building zhat for ${target}" VERBATIM)
    add_dependencies(zhat::zhat zhat-build)
    message(STATUS "zhat: ${target}, built by cargo")
  else()
    message(FATAL_ERROR "zhat: there is no cargo (https://rustup.rs): install it, or set ZHAT_PREBUILT to a folder that ci/package_c.sh made")
  endif()
  set_target_properties(zhat::zhat PROPERTIES IMPORTED_LOCATION "${library}" INTERFACE_INCLUDE_DIRECTORIES "${include}")
  if(is_host AND UNIX AND NOT APPLE)
    set_target_properties(zhat::zhat PROPERTIES INTERFACE_LINK_LIBRARIES "pthread;dl;m")
  elseif(NOT is_host)
    # The handler of panics, which nothing calls, and all that is not used.
    set_target_properties(zhat::zhat PROPERTIES INTERFACE_LINK_OPTIONS "-Wl,--gc-sections")
  endif()
endfunction()

# zhat_add_model(target NAME file.zhat): compiles a model file into a target, which includes "NAME.h" for its sizes.
function(zhat_add_model target name file)
  get_filename_component(file "${file}" ABSOLUTE)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/zhat-models")
  find_program(ZHAT_COMMAND zhat NO_CMAKE_FIND_ROOT_PATH DOC "The zhat command")
  if(ZHAT_COMMAND)
    set(command ${ZHAT_COMMAND})
  else()
    zhat_find_cargo(cargo)
    if(NOT cargo OR NOT EXISTS "${ZHAT_ROOT}/Cargo.toml")
      message(FATAL_ERROR "zhat: the zhat command is not on the PATH: install it, or set ZHAT_COMMAND")
    endif()
    # For this machine, whatever the project is for: the plain cargo.
    find_program(ZHAT_CARGO_PROGRAM cargo HINTS "$ENV{HOME}/.cargo/bin" NO_CMAKE_FIND_ROOT_PATH)
    set(command "${ZHAT_CARGO_PROGRAM}" run --quiet --release --features cli --bin zhat
      --manifest-path "${ZHAT_ROOT}/Cargo.toml" --target-dir "${CMAKE_BINARY_DIR}/zhat-command" --)
  endif()
  add_custom_command(
    OUTPUT "${folder}/${name}.h" "${folder}/${name}.c"
    COMMAND ${command} export-c "${file}" --name ${name} -o "${folder}"
    DEPENDS "${file}"
    COMMENT "Exporting ${name}" VERBATIM)
  target_sources(${target} PRIVATE "${folder}/${name}.c" "${folder}/${name}.h")
  target_include_directories(${target} PRIVATE "${folder}")
  target_link_libraries(${target} PRIVATE zhat::zhat)
endfunction()

zhat_add_library()
