package selection

// MaxCompared is the maximum size of two configurations that are compared, in bytes.
const MaxCompared = 16 << 20
