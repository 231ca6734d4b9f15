# A Cortex-M33, as QEMU's board mps2-an505 has it, with picolibc's start-up code and its printf over semihosting.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR cortex-m33)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16 --specs=picolibc.specs -ffunction-sections")
set(CMAKE_EXE_LINKER_FLAGS_INIT "--oslib=semihost --crt0=semihost -Wl,--defsym=__flash=0x10000000,--defsym=__flash_size=0x400000,--defsym=__ram=0x38000000,--defsym=__ram_size=0x100000,--defsym=__stack_size=0x2000 -Tpicolibc.ld")
