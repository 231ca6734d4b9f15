# RV32IMAC, as QEMU's board virt has it, with picolibc's start-up code and its printf over semihosting.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv32)
set(CMAKE_C_COMPILER riscv64-unknown-elf-gcc)
set(CMAKE_CXX_COMPILER riscv64-unknown-elf-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_FLAGS_INIT "-march=rv32imac -mabi=ilp32 -mcmodel=medany --specs=picolibc.specs -ffunction-sections")
set(CMAKE_EXE_LINKER_FLAGS_INIT "--oslib=semihost --crt0=semihost -Wl,--defsym=__flash=0x80000000,--defsym=__flash_size=0x400000,--defsym=__ram=0x80400000,--defsym=__ram_size=0x100000,--defsym=__stack_size=0x2000 -Tpicolibc.ld")
