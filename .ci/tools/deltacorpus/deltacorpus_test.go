package main

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestListCoversEveryKind(t *testing.T) {
	t.Parallel()
	list, err := readList(listJSON)
	if err != nil {
		t.Fatal(err)
	}
	pairs, byKind := 0, map[string]int{}
	for _, s := range list {
		n := max(0, len(s.measured())-1)
		pairs += n
		byKind[s.Kind] += n
		for i := range s.Versions {
			v := s.release(i)
			for p := range v.Packages {
				if len(v.SHA256[p]) != 64 {
					t.Errorf("%s %s: the SHA-256 of %s is missing; add it with deltacorpus build -record", s.Name, v.Version, p)
				}
			}
		}
	}
	if pairs < 30 {
		t.Errorf("%d pairs, want at least 30", pairs)
	}
	for _, kind := range kinds {
		if byKind[kind] < 4 {
			t.Errorf("%d pairs of %s, want at least 4", byKind[kind], kind)
		}
	}
	again, err := formatList(list)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again, listJSON) {
		t.Error("list.json is not formatted as deltacorpus build -record writes it")
	}
}

func TestListIsStrict(t *testing.T) {
	t.Parallel()
	const valid = `{"name":"a","kind":"Go","source":"go","packages":["example.com/a"],"main":"example.com/a","arch":"amd64","versions":[{"version":"v1"},{"version":"v2"}]}`
	if _, err := readList([]byte("[" + valid + "]")); err != nil {
		t.Fatal(err)
	}
	for want, list := range map[string]string{
		"two series":         valid + "," + valid,
		"unknown field":      strings.Replace(valid, `"name"`, `"nam"`, 1),
		"unknown kind":       strings.Replace(valid, `"Go"`, `"Gopher"`, 1),
		"unknown source":     strings.Replace(valid, `"go"`, `"git"`, 1),
		"two versions":       strings.Replace(valid, `,{"version":"v2"}`, "", 1),
		"either main or cal": strings.Replace(valid, `"main"`, `"call":"example.com/a.New","main"`, 1),
		"no 2 pairs":         strings.Replace(valid, `"arch"`, `"pairs":2,"arch"`, 1),
	} {
		if _, err := readList([]byte("[" + list + "]")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// sample returns entries as a package has them.
func sample() []entry {
	at := time.Date(2026, 5, 1, 2, 3, 4, 5, time.UTC)
	return []entry{
		{tar.Header{Typeflag: tar.TypeReg, Name: "usr/bin/b", Mode: 0o755, ModTime: at, Uname: "builder", Uid: 1000}, []byte("program")},
		{tar.Header{Typeflag: tar.TypeSymlink, Name: "/usr/bin/c", Linkname: "b", Mode: 0o777, ModTime: at}, nil},
		{tar.Header{Typeflag: tar.TypeReg, Name: "usr/bin/a", Mode: 0o644, ModTime: at.Add(time.Hour)}, []byte("text")},
	}
}

func TestPackIsDeterministic(t *testing.T) {
	t.Parallel()
	entries := sample()
	var one, two bytes.Buffer
	if err := pack(&one, entries); err != nil {
		t.Fatal(err)
	}
	entries[0], entries[2] = entries[2], entries[0]
	if err := pack(&two, entries); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("the order of the entries changed the archive")
	}
	var names []string
	for r := tar.NewReader(&one); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Uname != "" {
			t.Errorf("%s is owned by %d (%s)", h.Name, h.Uid, h.Uname)
		}
		names = append(names, h.Name)
	}
	if got, want := strings.Join(names, " "), "usr/ usr/bin/ usr/bin/a usr/bin/b usr/bin/c"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDownloadsAreCompared(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "package")
	if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err := checkSum(file, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkSum(file, sum); err != nil {
		t.Error(err)
	}
	if _, err := checkSum(file, strings.Repeat("0", 64)); err == nil {
		t.Error("content that differs from the list was accepted")
	}
}

func TestBuildNeedsAFolder(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"build"}, {"measure"}, {"measure", "-dir", "x", "y"}, {"compact", "-dir", "x"}, {"other"}} {
		var stderr bytes.Buffer
		if got := run(context.Background(), args, nil, io.Discard, &stderr); got != 2 || stderr.Len() == 0 {
			t.Errorf("%v: status %d and %q, want 2 and a message", args, got, &stderr)
		}
	}
}
