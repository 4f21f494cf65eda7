package catalog_test

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// endless is a text of one repeated letter.
type endless byte

func (e endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(e)
	}
	return len(b), nil
}

// TestLargeObjects reads objects of 100 MB that are too long in different ways: each is an error at
// the line where it begins, and memory does not grow with it.
func TestLargeObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("objects of 16 MiB (make test-long)")
	}
	for name, text := range map[string]string{
		"a JSON string":  `{"schema": "a", "x": "`,
		"a JSON list":    `{"schema": "a", "x": [`,
		"a YAML string":  "schema: a\nx: ",
		"a YAML comment": "schema: a\n# ",
		"a YAML block":   "schema: a\nx: |\n",
	} {
		t.Run(name, func(t *testing.T) {
			fill := io.Reader(endless('5'))
			if name == "a YAML block" {
				fill = &lines{}
			}
			in := io.MultiReader(strings.NewReader("{\"schema\": \"a\"}\n---\n"+text), io.LimitReader(fill, 100<<20))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := catalog.NewReader(catalog.Options{})
			fail.On(t, r.File("f", in))
			_, err := r.Catalog()
			runtime.ReadMemStats(&after)
			var found *catalog.Error
			if !errors.As(err, &found) || len(found.Problems) != 1 || !strings.HasPrefix(err.Error(), "f:3: the object is larger than 16 MiB; ") {
				t.Errorf("got %v", err)
			}
			const most = 128 << 20 // everything that was ever allocated
			if taken := after.TotalAlloc - before.TotalAlloc; taken > most {
				t.Errorf("allocated %d bytes", taken)
			}
		})
	}
}

// lines is a text of indented lines.
type lines struct{ at int }

func (l *lines) Read(b []byte) (int, error) {
	const line = "  some words on a line of their own\n"
	for i := range b {
		b[i] = line[l.at%len(line)]
		l.at++
	}
	return len(b), nil
}

// TestDenseDocument checks that a YAML document of many empty values is a problem before it takes sixty times its size in
// memory.
func TestDenseDocument(t *testing.T) {
	r := catalog.NewReader(catalog.Options{})
	fail.On(t, r.File("a.yaml", strings.NewReader("schema: olm.package\nname: a\nx: ["+strings.Repeat("{},", 300_000)+"]\n")))
	if _, err := r.Catalog(); err == nil || !strings.Contains(err.Error(), "would take too much memory") {
		t.Errorf("got %.300v", err)
	}
}
