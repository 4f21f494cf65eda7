package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"testing"

	"golang.org/x/tools/txtar"
)

// archiveOf returns the archive of a chart from files in the format of txtar.
func archiveOf(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range txtar.Parse([]byte(text)).Files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "chart/" + f.Name, Size: int64(len(f.Data)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
