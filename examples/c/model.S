/* The files that the program has in its flash: the one place that names them. */

        .section .rodata.model, "a"
        .balign 16
        .global model_file, model_file_end
model_file:
        .incbin "indexed.zhat"
model_file_end:

        .balign 4
        .global queries, queries_end
queries:
        .incbin "indexed-queries.bin"
queries_end:
