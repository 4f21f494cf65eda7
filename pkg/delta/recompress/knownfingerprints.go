package recompress

import (
	_ "embed" // fingerprints.txt
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// fingerprintList has the fingerprints of all compressors and levels, as Supported returns them. TestFingerprints
// compares each with what the compressor writes.
//
//go:embed fingerprints.txt
var fingerprintList string

// What the list was made with. The lines of other compressors than these depend on package zlib alone.
const (
	listedGo        = "go1.26" // go-gzip
	klauspostModule = "github.com/klauspost/compress"
	listedKlauspost = "v1.20.2" // pgzip, klauspost-gzip, klauspost-zstd
)

// A build is what the fingerprints of a program depend on.
type build struct {
	golang    string // as runtime.Version returns it
	klauspost string // the version of klauspost/compress, "" if it is unknown
}

// known has the fingerprints of this build that need not be computed, by compressor and level, as in "pgzip:5".
var known = sync.OnceValue(func() map[string]string {
	b := build{golang: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.klauspost = moduleVersion(info.Deps)
	}
	return b.known()
})

// moduleVersion returns the version of klauspost/compress among the modules of a program, or "". The test of a package
// has no list of modules; it is built with those of go.mod.
func moduleVersion(modules []*debug.Module) string {
	if len(modules) == 0 {
		return listedKlauspost
	}
	for _, m := range modules {
		if m.Path == klauspostModule && m.Replace == nil {
			return m.Version
		}
	}
	return ""
}

// known returns the fingerprints of the list that are those of a build. One with another version of Go, or with another
// klauspost/compress than go.mod names, has fewer.
func (b build) known() map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(fingerprintList) {
		setting, hash, ok := strings.Cut(strings.TrimSpace(line), "/")
		name, _, hasLevel := strings.Cut(setting, ":")
		if ok && hasLevel && !strings.HasPrefix(line, "#") && b.isListed(name) {
			found[setting] = hash
		}
	}
	return found
}

// isListed reports whether the list is for what a compressor is built from.
func (b build) isListed(compressor string) bool {
	switch compressor {
	case "go-gzip":
		return b.golang == listedGo || strings.HasPrefix(b.golang, listedGo+".")
	case "pgzip", "klauspost-gzip", "klauspost-zstd":
		return b.klauspost == listedKlauspost
	}
	return true
}
