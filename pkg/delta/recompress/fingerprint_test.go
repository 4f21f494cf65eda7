package recompress

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestFingerprints fails if a compressor's output changed. fingerprints.txt explains what to do then.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	var want []string
	for line := range strings.Lines(fingerprintList) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			want = append(want, line)
		}
	}
	var got []string
	for _, c := range compressors() {
		levels := c.levels
		if testing.Short() { // the usual level of each
			levels = levels[:1]
		}
		for _, level := range levels {
			f, err := "", error(nil)
			if c.format != uncompressed {
				f, err = computeFingerprint(c, level, nil)
			}
			line := candidate{name: c.name, level: level}.requirement(f)
			if err != nil || !slices.Contains(want, line) {
				t.Errorf("the output of %s changed; read fingerprints.txt: now %s, error %v", c.name, line, err)
			}
			got = append(got, line)
		}
	}
	if testing.Short() {
		return
	}
	fail.Diff(t, want, got)
}

// TestKnownFingerprints checks that this build computes nothing, and that a build with another library or another
// version of Go would. go.mod names the versions that fingerprints.txt is for.
func TestKnownFingerprints(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../go.mod")
	fail.On(t, err)
	for _, line := range []string{"\t" + klauspostModule + " " + listedKlauspost + " ", "\ngo " + strings.TrimPrefix(listedGo, "go") + "."} {
		if !strings.Contains(string(text), line) {
			t.Errorf("go.mod does not have %q: update knownfingerprints.go and fingerprints.txt", line)
		}
	}
	for name, b := range map[string]struct {
		build   build
		unknown []string
	}{
		"the listed versions":  {build{"go1.26.8", listedKlauspost}, nil},
		"the first release":    {build{listedGo, listedKlauspost}, nil},
		"another Go":           {build{"go1.27.1", listedKlauspost}, []string{"go-gzip"}},
		"a similar number":     {build{"go1.260", listedKlauspost}, []string{"go-gzip"}},
		"another library":      {build{"go1.26.8", "v1.20.3"}, []string{"pgzip", "klauspost-gzip", "klauspost-zstd"}},
		"no build information": {build{"go1.26.8", ""}, []string{"pgzip", "klauspost-gzip", "klauspost-zstd"}},
	} {
		known := b.build.known()
		for _, c := range compressors() {
			for _, level := range c.levels {
				_, ok := known[c.name+":"+strconv.Itoa(level)]
				if want := !slices.Contains(b.unknown, c.name) && c.format != uncompressed; ok != want {
					t.Errorf("%s: the fingerprint of %s level %d is known: %t", name, c.name, level, ok)
				}
			}
		}
	}
}

// TestModuleVersion checks that the version of another library, or of a replaced one, is not taken for the one in go.mod.
func TestModuleVersion(t *testing.T) {
	t.Parallel()
	other, listed := &debug.Module{Path: "example.com/a", Version: "v1.0.0"}, &debug.Module{Path: klauspostModule, Version: listedKlauspost}
	fork := &debug.Module{Path: klauspostModule, Version: listedKlauspost, Replace: other}
	for want, modules := range map[string][][]*debug.Module{listedKlauspost: {nil, {other, listed}}, "": {{other}, {other, fork}}, "v1.20.3": {{{Path: klauspostModule, Version: "v1.20.3"}}}} {
		for _, m := range modules {
			fail.Diff(t, want, moduleVersion(m))
		}
	}
}

// TestSupportedComputesNothing checks that asking what this build reproduces compresses nothing.
func TestSupportedComputesNothing(t *testing.T) {
	if !strings.HasPrefix(runtime.Version(), listedGo+".") {
		t.Skipf("fingerprints.txt is for %s", listedGo)
	}
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Supported()
		}
	}).AllocedBytesPerOp()
	if allocated > 1<<20 {
		t.Errorf("Supported allocates %d bytes", allocated)
	}
}
