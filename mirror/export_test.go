package mirror

// WithProof returns options with which a run leaves hashing to a registry however little it sends.
func WithProof(o Options) Options {
	o.proofWorth = 1
	return o
}
