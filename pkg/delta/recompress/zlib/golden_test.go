package zlib_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/delta/recompress/zlib"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

const goldenFile = "testdata/golden.txt"

// goldenOptions are the options whose output is known, by name.
func goldenOptions() (names []string, options map[string]zlib.Options) {
	options = map[string]zlib.Options{}
	add := func(o zlib.Options, format string, arguments ...any) {
		name := fmt.Sprintf(format, arguments...)
		names = append(names, name)
		options[name] = o
	}
	add(zlib.Options{}, "zlib-0")
	add(zlib.Options{WriteSize: 8192, OutputSize: 16384}, "zlib-0-8192-16384")
	add(zlib.Options{WriteSize: 40000, OutputSize: 512, MemoryLevel: 9}, "zlib-0-40000-512-memory-9")
	for level := 1; level <= 9; level++ {
		add(zlib.Options{Level: level}, "zlib-%d", level)
		add(zlib.Options{Level: level, MemoryLevel: 9, WriteSize: 1000}, "zlib-%d-1000-memory-9", level)
		add(zlib.Options{Program: zlib.Gzip, Level: level}, "gzip-%d", level)
	}
	for _, level := range []int{1, 6, 9} {
		add(zlib.Options{Program: zlib.Pigz, Level: level}, "pigz-%d", level)
		add(zlib.Options{Program: zlib.Pigz, Level: level, Independent: true, BlockSize: 40 << 10}, "pigz-%d-independent-40k", level)
		add(zlib.Options{Program: zlib.Pigz, Level: level, Sequential: true, BlockSize: 32 << 10}, "pigz-%d-sequential-32k", level)
	}
	return names, options
}

// goldenContent returns the inputs. Each is generated once.
func goldenContent() func(kind string, size int) []byte {
	longest := map[string][]byte{}
	for _, kind := range kinds {
		longest[kind] = content(kind, 150_000, 1)
	}
	return func(kind string, size int) []byte { return longest[kind][:size] }
}

// goldenSum is the hash of the outputs for several inputs of a kind.
func goldenSum(o zlib.Options, kind string, content func(kind string, size int) []byte, compress func(o zlib.Options, data []byte, flush ...int) []byte) string {
	hash := sha256.New()
	sizes := []int{0, 1, 3, 300, 68_000}
	switch o.Program {
	case zlib.Pigz:
		sizes = []int{140_000}
	case zlib.Gzip:
		// The input ends shortly before the window is full.
		sizes = append(sizes, 98_303)
	}
	for _, size := range sizes {
		data := content(kind, size)
		_, _ = hash.Write(compress(o, data))
		if size == 300 && o.WriteSize > 0 {
			_, _ = hash.Write(compress(o, data, 0, 1, 3, 200, 201))
		}
	}
	return fmt.Sprintf("%x", hash.Sum(nil)[:16])
}

// TestGolden compares outputs with hashes of what the programs themselves write, on machines
// without them.
func TestGolden(t *testing.T) {
	t.Parallel()
	if os.Getenv("GANTRY_TEST_UPDATE_GOLDEN") != "" {
		updateGolden(t)
	}
	data, err := os.ReadFile(goldenFile)
	fail.On(t, err)
	want := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] != "#" {
			want[fields[0]+" "+fields[1]] = fields[2]
		}
	}
	known := goldenContent()
	names, options := goldenOptions()
	if len(want) != len(names)*len(kinds) {
		t.Errorf("%s has %d hashes instead of %d", goldenFile, len(want), len(names)*len(kinds))
	}
	for _, name := range names {
		if testing.Short() && strings.ContainsAny(name[:strings.IndexByte(name, '-')+2], "23578") {
			continue // every function is used at the other levels
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range kinds {
				got := goldenSum(options[name], kind, known, func(o zlib.Options, data []byte, flush ...int) []byte {
					return compress(t, o, data, flush...)
				})
				if got != want[name+" "+kind] {
					t.Errorf("%s: hash %s instead of %s", kind, got, want[name+" "+kind])
				}
			}
		})
	}
}

// updateGolden writes the hashes with the library and programs of this machine.
func updateGolden(t *testing.T) {
	l := startLibrary(t)
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Hashes of the output of zlib %s, %s and %s. See golden_test.go.\n", l.version, version(t, "pigz"), version(t, "gzip"))
	known := goldenContent()
	names, options := goldenOptions()
	for _, name := range names {
		for _, kind := range kinds {
			sum := goldenSum(options[name], kind, known, func(o zlib.Options, data []byte, flush ...int) []byte {
				if o.Program == "" {
					return l.compress(t, o, data, flush...)
				}
				return runProgram(t, o, data)
			})
			fmt.Fprintln(&b, name, kind, sum)
		}
	}
	fail.On(t, os.WriteFile(goldenFile, b.Bytes(), 0o600))
}

func version(t *testing.T, program string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, "--version").Output()
	fail.On(t, err)
	first, _, _ := strings.Cut(string(out), "\n")
	return first
}
