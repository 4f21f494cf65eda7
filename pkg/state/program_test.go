package state

import (
	"slices"
	"testing"
)

// TestCompressors checks that what a program reproduces is found once for each workspace and program.
func TestCompressors(t *testing.T) {
	t.Parallel()
	w, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	n := 0
	find := func() []string { n++; return []string{"a:1/ff"} }
	for range 3 {
		if got := w.Compressors(find); !slices.Equal(got, []string{"a:1/ff"}) {
			t.Errorf("Compressors = %v", got)
		}
	}
	if n != 1 {
		t.Errorf("found %d times", n)
	}
	if err := w.keepText(programFile, []byte(`{"program":"another 1 2","compressors":["b"]}`)); err != nil {
		t.Fatal(err)
	}
	if got := w.Compressors(find); !slices.Equal(got, []string{"a:1/ff"}) || n != 2 {
		t.Errorf("of another program: %v, found %d times", got, n)
	}
}
