package env

// MaxPassword is the maximum size of a password, in bytes. Some are tokens.
const MaxPassword = 64 << 10
