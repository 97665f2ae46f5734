"""Three ways to launch a Triton kernel: on the GPU, in the interpreter, or recorded for the compiler."""
