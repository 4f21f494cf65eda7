package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"archive/tar"
)

// TestMain is the child process of measure, too, which is the same program, and a fake of gantry.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "mirror" {
		if err := fakeMirror(os.Args[2:]); err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 2 && os.Args[1] == childVerb {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestMeasureRebuildsEveryBlob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, sub := range []string{"tars", "blobs"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	data := make([]byte, 300_000)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = "abcdefghijklmnop"[random.IntN(16)]
	}
	var layers []layer
	b := builder{dir: dir, stderr: t.Output()}
	for _, version := range []string{"1", "2"} {
		data[len(data)/2] += 5
		name := filepath.Join(dir, "tars/program@"+version+".tar")
		if err := writeFile(name, func(f *os.File) error {
			return pack(f, []entry{{tar.Header{Typeflag: tar.TypeReg, Name: "program", Mode: 0o755}, data}})
		}); err != nil {
			t.Fatal(err)
		}
		// The tar archive exists: nothing is downloaded.
		l, err := b.layer(t.Context(), series{Name: "program", Kind: "Go"}, release{Version: version}, time.Time{}, version == "2")
		if err != nil {
			t.Fatal(err)
		}
		layers = append(layers, l)
	}
	layers[1].Base = "1"
	if err := updateCorpus(dir, "program", layers); err != nil {
		t.Fatal(err)
	}
	var table, stderr bytes.Buffer
	if status := run(t.Context(), []string{"measure", "-dir", dir}, nil, &table, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	if !strings.Contains(table.String(), "| Go | program 1 → 2 | 0.3 |") {
		t.Errorf("the pair is not in the table:\n%s", &table)
	}
	for _, line := range strings.Split(strings.TrimSpace(stderr.String()), "\n") {
		if strings.Contains(line, " zlib ") { // needs a compressor that is not in every version
			continue
		}
		if strings.Contains(line, "100.0 %") {
			t.Errorf("carried whole: %s", line)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "measure-*")); len(left) > 0 {
		t.Errorf("left behind: %s", left)
	}
}

func TestCarried(t *testing.T) {
	t.Parallel()
	m := measurement{Whole: 1000, Found: "pgzip"}
	for _, test := range []struct {
		delta   int64
		rebuilt bool
		want    float64
	}{{200, true, 0.2}, {800, true, 0.8}, {801, true, 1}, {200, false, 1}} {
		if got := m.carried(cost{Delta: test.delta, Rebuilt: test.rebuilt}); got != test.want {
			t.Errorf("delta of %d, rebuilt %v: got %v, want %v", test.delta, test.rebuilt, got, test.want)
		}
	}
	m.Found = ""
	if got := m.carried(cost{Delta: 1, Rebuilt: true}); got != 1 {
		t.Errorf("a blob that cannot be reproduced is carried as %v of the whole", got)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	rows := []measurement{{Whole: 4}, {Whole: 1}, {Whole: 2}, {Whole: 100}}
	whole := func(m measurement) float64 { return float64(m.Whole) }
	if got := median(rows, whole); got != 3 {
		t.Errorf("median of four: %v, want 3", got)
	}
	if got := median(rows[:3], whole); got != 2 {
		t.Errorf("median of three: %v, want 2", got)
	}
	if got := largest(rows, func(m measurement) int64 { return m.Whole * 1e6 }); got != 100 {
		t.Errorf("largest: %v, want 100", got)
	}
}
