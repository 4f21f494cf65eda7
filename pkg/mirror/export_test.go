package mirror

// WithProof returns options with which a run leaves hashing to a registry however little it sends.
func WithProof(o Options) Options {
	o.proofWorth = 1
	return o
}

// KeepAllDownloads is KeepDownloads for files of every size, which can be continued after each step bytes of a run
// that was killed. reserve is how many bytes stay free.
func (o *Origin) KeepAllDownloads(dir string, step, reserve int64) {
	o.downloads = Downloads{Dir: dir, step: step, reserve: reserve}
}
