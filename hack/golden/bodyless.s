// A file in assembler lets mirroring_upstream.go declare a function without its body.
