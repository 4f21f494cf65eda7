package recompress

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestPrograms compresses with the programs of this machine, as scripts that build layers do.
func TestPrograms(t *testing.T) {
	t.Parallel()
	const python = `import sys, gzip
f = gzip.GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=sys.stdout.buffer, mtime=0)
while True:
    b = sys.stdin.buffer.read(10240)
    if not b: break
    f.write(b)
f.close()`
	all := contents(t)
	generated := bytes.Join([][]byte{all["tar"], all["random"], all["mixed"]}, nil)
	content := append(bytes.Clone(generated), all["program"]...)
	if !testing.Short() {
		content = bytes.Repeat(content, 2)
	}
	for _, test := range []struct {
		name    string
		command []string
		levels  string
	}{
		{"zlib", []string{"python3", "-c", python}, "1569"},
		{"gnu-gzip", []string{"gzip", "-LEVEL"}, "1269"},
		{"gnu-gzip", []string{"gzip", "-n", "-LEVEL"}, "6"},
		{"pigz", []string{"pigz", "-p", "2", "-LEVEL"}, "1269"},
		{"pigz", []string{"pigz", "-p", "2", "-b", "64", "-LEVEL"}, "6"},
		{"pigz", []string{"pigz", "-p", "1", "-LEVEL"}, "6"},
		{"pigz-independent", []string{"pigz", "-i", "-p", "2", "-LEVEL"}, "6"},
	} {
		if _, err := exec.LookPath(test.command[0]); err != nil {
			t.Logf("%s: %v", test.name, err)
			continue
		}
		for level := range strings.SplitSeq(test.levels, "") {
			t.Run(test.command[0]+" "+level, func(t *testing.T) {
				t.Parallel()
				if testing.Short() && (level != "6" || slices.Contains(test.command, "-n")) {
					t.Skip("one level of each is enough in short mode")
				}
				content := content
				if slices.Contains(test.command, "-b") {
					// The size is found if one of the first blocks ends with a mark. That depends on the content, so the
					// content must be the same each time.
					content = generated
				}
				var args []string
				for _, a := range test.command[1:] {
					args = append(args, strings.ReplaceAll(a, "LEVEL", level))
				}
				cmd := exec.CommandContext(t.Context(), test.command[0], args...)
				cmd.Stdin = bytes.NewReader(content)
				blob, err := cmd.Output()
				if err != nil {
					t.Skip(err) // for example pigz without the option
				}
				r, report, err := Detect(t.Context(), bytes.NewReader(blob), int64(len(blob)), DetectOptions{})
				if err != nil {
					t.Fatalf("%v: %+v", err, report)
				}
				if !strings.HasPrefix(r.compressor, test.name) { // what pigz makes with one processor can be the same
					t.Errorf("detected %s, expected %s", r.Compressor(), test.name)
				}
				if report.Wasted > 20<<20 {
					t.Errorf("%+v", report)
				}
				checkRecipe(t, r, blob, content)
			})
		}
	}
}
