package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeArchive is what the fake of gantry mirror writes.
type fakeArchive struct {
	Manifests map[string]string // by repository/manifests/tag
	Blobs     map[string][]byte // by repository/blobs/digest
}

// fakeMirror is gantry mirror as far as compact needs it. With the flag --drop, an archive does not have
// the last blob.
func fakeMirror(args []string) error {
	target := args[len(args)-1]
	if i := slices.Index(args, "--from"); i >= 0 {
		return fakeImport(strings.TrimPrefix(args[i+1], "file://"), "http://"+strings.TrimPrefix(target, "docker://")+"/v2/")
	}
	config, err := os.ReadFile(args[slices.Index(args, "-c")+1])
	if err != nil {
		return err
	}
	a := fakeArchive{map[string]string{}, map[string][]byte{}}
	last := ""
	for _, m := range regexp.MustCompile(`- name: ([^/]+)/(.+):(.+)`).FindAllStringSubmatch(string(config), -1) {
		manifest, err := fakeRequest(http.MethodGet, "http://"+m[1]+"/v2/"+m[2]+"/manifests/"+m[3], nil, http.StatusOK)
		if err != nil {
			return err
		}
		a.Manifests[m[2]+"/manifests/"+m[3]] = string(manifest)
		for _, digest := range regexp.MustCompile(`"digest":"([^"]+)"`).FindAllSubmatch(manifest, -1) {
			last = m[2] + "/blobs/" + string(digest[1])
			if a.Blobs[last], err = fakeRequest(http.MethodGet, "http://"+m[1]+"/v2/"+last, nil, http.StatusOK); err != nil {
				return err
			}
		}
	}
	if slices.Contains(args, "--drop") {
		delete(a.Blobs, last)
	}
	disk := strings.TrimPrefix(target, "file://")
	b, err := json.Marshal(a)
	return errors.Join(err, os.MkdirAll(disk, 0o700), os.WriteFile(filepath.Join(disk, "archive"), b, 0o600))
}

func fakeImport(disk, registry string) error {
	b, err := os.ReadFile(filepath.Join(disk, "archive"))
	if err != nil {
		return err
	}
	var a fakeArchive
	if err := json.Unmarshal(b, &a); err != nil {
		return err
	}
	id := 0
	for name, data := range a.Blobs {
		repository, digest, _ := strings.Cut(name, "/blobs/")
		session := registry + repository + "/blobs/uploads/"
		_, err := fakeRequest(http.MethodPost, session, nil, http.StatusAccepted)
		session += fmt.Sprint(id)
		id++
		_, patchErr := fakeRequest(http.MethodPatch, session, data[:len(data)/2], http.StatusAccepted)
		_, putErr := fakeRequest(http.MethodPut, session+"?digest="+digest, data[len(data)/2:], http.StatusCreated)
		if err := errors.Join(err, patchErr, putErr); err != nil {
			return err
		}
	}
	for name, manifest := range a.Manifests {
		if _, err := fakeRequest(http.MethodPut, registry+name, []byte(manifest), http.StatusCreated); err != nil {
			return err
		}
	}
	return nil
}

func fakeRequest(method, url string, body []byte, want int) ([]byte, error) {
	r, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != want {
		return nil, fmt.Errorf("%s %s: %s", method, url, resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// imageCorpus makes a corpus of two versions of a Go program and one of a Java program.
func imageCorpus(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	b := builder{dir: dir, stderr: t.Output()}
	for _, s := range []series{
		{Name: "program", Kind: "Go", Compact: true, Versions: []release{{Version: "1"}, {Version: "2+a"}}},
		{Name: "jar", Kind: "Java", Compact: true, Versions: []release{{Version: "1"}}},
	} {
		var layers []layer
		for _, v := range s.Versions {
			to := filepath.Join(dir, "tars", fileName(s.Name+"@"+v.Version)+".tar")
			err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.MkdirAll(filepath.Join(dir, "blobs"), 0o700),
				writeFile(to, func(f *os.File) error {
					return pack(f, []entry{{tar.Header{Typeflag: tar.TypeReg, Name: s.Name}, []byte(v.Version)}})
				}))
			if err != nil {
				t.Fatal(err)
			}
			l, err := b.layer(t.Context(), s, v, time.Time{}, false)
			if err != nil {
				t.Fatal(err)
			}
			layers = append(layers, l)
		}
		if err := updateCorpus(dir, s.Name, layers); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCompactMeasuresArchives(t *testing.T) {
	t.Parallel()
	dir := imageCorpus(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var table, stderr bytes.Buffer
	if status := run(t.Context(), []string{"compact", "-dir", dir, "-gantry", self}, nil, &table, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	for _, row := range []string{"| Go | 2 | ", "| Java | 1 | ", "| all | 3 | ", "| one version of each | 2 | "} {
		if !strings.Contains(table.String(), row) {
			t.Errorf("no row begins with %q:\n%s", row, &table)
		}
	}
	if line := stderr.String(); strings.Count(line, " / ") != 4*7*2 {
		t.Errorf("want three numbers in each of seven cells:\n%s", line)
	}
	stderr.Reset()
	if status := run(t.Context(), []string{"compact", "-dir", dir, "-gantry", self, "-flags", "--drop"}, nil, io.Discard, &stderr); status != 1 {
		t.Errorf("an archive without a blob: status %d: %s", status, &stderr)
	}
	if !strings.Contains(stderr.String(), "is missing after the import") {
		t.Errorf("the missing blob is not named: %s", &stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "compact-*")); len(left) > 0 {
		t.Errorf("left behind: %s", left)
	}
}

func TestReleasesKeepOlderPackages(t *testing.T) {
	t.Parallel()
	s := series{Versions: []release{
		{Version: "1", Packages: map[string]string{"a": "1.0", "b": "1.5"}},
		{Version: "2", Packages: map[string]string{"b": "1.6"}},
	}}
	if got, want := fmt.Sprint(s.release(1).Packages), "map[a:1.0 b:1.6]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s.record(1, map[string]string{"a": "sum a", "b": "sum b"})
	if got, want := fmt.Sprint(s.Versions[0].SHA256, s.Versions[1].SHA256), "map[a:sum a] map[b:sum b]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOnlyTheProgram(t *testing.T) {
	t.Parallel()
	s := series{Name: "b"}
	got, err := s.only(sample(), "usr/bin/b")
	if err != nil || len(got) != 1 || got[0].header.Name != "usr/local/bin/b" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := s.only(sample(), "usr/bin/x"); err == nil {
		t.Error("a package without the program was accepted")
	}
}
