package snapshot_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/snapshot"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

const root = digest.Digest("sha256:0123456789012345678901234567890123456789012345678901234567890123")

// text is a catalog with three packages, objects that belong to no package, and a package without
// olm.package.
const text = `{"schema": "olm.package", "name": "crane", "defaultChannel": "stable", "n": 9007199254740993}
{"schema": "olm.channel", "package": "crane", "name": "stable", "entries": [{"name": "crane.v1.1.0", "replaces": "crane.v1.0.0", "skips": ["a", "<&>\u2028"], "skipRange": "<1.1.0"}, {"name": "crane.v1.0.0", "skips": []}]}
{"schema": "olm.bundle", "package": "crane", "name": "crane.v1.1.0", "image": "example.com/crane", "properties": [
  {"type": "olm.package", "value": {"packageName": "crane", "version": "1.1.0"}},
  {"type": "olm.gvk", "value": {"group": "<example.com>", "kind": "Crane", "version": "v1"}},
  {"type": "olm.csv.metadata", "value": {"description": "long"}}, {"type": "olm.label"}]}
{"schema": "olm.bundle", "package": "crane", "name": "crane.v1.0.0", "image": "example.com/crane", "relatedImages": [{"name": "a", "image": "b"}]}
{"schema": "olm.deprecations", "package": "crane", "entries": [{"reference": {"schema": "olm.package"}, "message": "gone"}]}
{"schema": "io.example", "package": "crane"}

{"schema": "olm.package", "name": "derrick"}
{"schema": "olm.package", "name": "hoist", "defaultChannel": "x"}
{"schema": "olm.channel", "package": "hoist", "name": "x"}
{"schema": "olm.bundle", "package": "stray", "name": "stray.v1.0.0"}
{"schema": "io.example", "name": "z"}
{"schema": "io.example", "name": "a"}
`

func read(t testing.TB, options catalog.Options) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Read(t.Context(), fstest.MapFS{"some/file.json": {Data: []byte(text)}}, options)
	fail.On(t, err)
	return c
}

// keep selects the packages with the given names, separated by commas; "*" is all.
func keep(names string) func(string) bool {
	if names == "*" {
		return nil
	}
	requested := strings.Split(names, ",")
	return func(name string) bool { return slices.Contains(requested, name) }
}

func write(t testing.TB, c snapshot.Content) []byte {
	t.Helper()
	var b bytes.Buffer
	if c.Root == "" {
		c.Root = root
	}
	fail.On(t, snapshot.Write(&b, c))
	return b.Bytes()
}

func open(t testing.TB, data []byte) *snapshot.Snapshot {
	t.Helper()
	s, err := snapshot.Open(bytes.NewReader(data), int64(len(data)), root)
	fail.On(t, err)
	return s
}

// same compares catalogs: errors by their text, and raw text as a whole for speed.
var same = cmp.Options{
	cmp.Comparer(func(a, b error) bool {
		return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error())
	}),
	cmp.Comparer(bytes.Equal),
}

func TestCatalog(t *testing.T) {
	tests := []struct {
		stored    string // what was read, one snapshot after the other
		outline   bool   // of the first read
		requested string
		want      bool // whether it is stored
	}{
		{"*", false, "*", true},
		{"*", false, "crane,unknown", true},
		{"crane", false, "crane", true},
		{"crane", false, "", true},
		{"crane", false, "crane,derrick", false},
		{"crane", false, "*", false},
		{"crane,derrick,hoist", false, "*", false}, // without the package that has no olm.package
		{"crane derrick,hoist", false, "crane,hoist", true},
		{"crane crane,derrick hoist", false, "crane,derrick,hoist", true},
		{"crane *", false, "*", true},
		{"* crane", false, "*", true},
		{"crane", true, "crane", true},
		{"crane", true, "", true},
		{"crane derrick,hoist", true, "hoist", true},
		{"crane hoist", true, "crane", true},
		{"stray", true, "stray", true},
	}
	for _, test := range tests {
		t.Run(test.stored+" "+test.requested, func(t *testing.T) {
			var s *snapshot.Snapshot
			for i, names := range strings.Fields(test.stored) {
				options := catalog.Options{Keep: keep(names), Outline: test.outline && i == 0}
				s = open(t, write(t, snapshot.Content{Catalog: read(t, options), Options: options, Before: s, Facts: []byte(`{"a":1}`)}))
			}
			for _, outline := range []bool{false, true} {
				options := catalog.Options{Keep: keep(test.requested), Outline: outline}
				got, err := s.Catalog(options)
				if !test.want || outline && !test.outline && !strings.Contains(test.stored, "*") {
					fail.Diff(t, snapshot.ErrNotStored, err, cmpopts.EquateErrors())
					continue
				}
				fail.On(t, err)
				if diff := cmp.Diff(read(t, options), got, same); diff != "" {
					t.Errorf("outlines %v: (-read +snapshot)\n%s", outline, diff)
				}
			}
			fail.Diff(t, `{"a":1}`, string(s.Facts()))
		})
	}
}

// TestPacked checks that a packed catalog is stored like another one, and that it can be restored as
// either.
func TestPacked(t *testing.T) {
	want := read(t, catalog.Options{})
	data := write(t, snapshot.Content{Catalog: want})
	packed := read(t, catalog.Options{Pack: true})
	if !bytes.Equal(data, write(t, snapshot.Content{Catalog: packed, Options: catalog.Options{Pack: true}})) {
		t.Error("the snapshot of a packed catalog is different")
	}
	got, err := open(t, data).Catalog(catalog.Options{Pack: true})
	fail.On(t, err)
	for _, p := range got.Packages {
		for i, b := range p.Bundles {
			if b.Meta.Packed == nil {
				t.Errorf("bundle %s is not packed", b.Name)
			}
			if p.Bundles[i], err = b.Complete(); err != nil {
				t.Fatal(err)
			}
		}
	}
	fail.Diff(t, want, got, same)
}

// TestSmall checks that reading few packages stores few.
func TestSmall(t *testing.T) {
	options := catalog.Options{Keep: keep("hoist")}
	if n := len(write(t, snapshot.Content{Catalog: read(t, options), Options: options})); n > 1000 {
		t.Errorf("got %d bytes", n)
	}
	complete := read(t, catalog.Options{})
	if !bytes.Equal(write(t, snapshot.Content{Catalog: complete}), write(t, snapshot.Content{Catalog: complete})) {
		t.Error("the same catalog gives different snapshots")
	}
}

// TestDamage flips bits and truncates: the result is an error or the original.
func TestDamage(t *testing.T) {
	options := catalog.Options{Keep: keep("crane"), Outline: true}
	want := read(t, options)
	data := write(t, snapshot.Content{Catalog: want, Options: options, Facts: []byte("{}")})
	try := func(data []byte) {
		s, err := snapshot.Open(bytes.NewReader(data), int64(len(data)), root)
		if err != nil {
			return
		}
		c, err := s.Catalog(options)
		if err != nil {
			return
		}
		fail.Diff(t, want, c, same)
	}
	for at := range data {
		damaged := bytes.Clone(data)
		damaged[at] ^= 1 << (at % 8)
		try(damaged)
		try(data[:at])
		try(data[at:])
	}
	if _, err := snapshot.Open(bytes.NewReader(data), int64(len(data)), digest.FromString("another")); err == nil {
		t.Error("opened as the snapshot of another image")
	}
	if _, err := snapshot.Open(bytes.NewReader(data[:100]), int64(len(data)), root); err == nil {
		t.Error("opened although its end is missing")
	}
}

func TestWriteErrors(t *testing.T) {
	options := catalog.Options{}
	complete := snapshot.Content{Root: root, Catalog: read(t, options)}
	data := write(t, complete)
	for n := 0; n < len(data); n += 31 {
		if err := snapshot.Write(&limited{n}, complete); !errors.Is(err, io.ErrShortWrite) {
			t.Fatalf("after %d bytes got %v", n, err)
		}
	}
	other := complete
	other.Root, other.Before = digest.FromString("another"), open(t, data)
	if err := snapshot.Write(io.Discard, other); err == nil {
		t.Error("accepted the snapshot of another image")
	}
	// A damaged part of a snapshot is not complete, or is unchanged.
	few := catalog.Options{Keep: keep("derrick")}
	next := snapshot.Content{Root: root, Catalog: read(t, few), Options: few}
	for at := range bytes.Index(data, []byte(`{"root"`)) {
		if at%5 > 0 {
			continue
		}
		damaged := bytes.Clone(data)
		damaged[at] ^= 1
		next.Before = open(t, damaged)
		var b bytes.Buffer
		if err := snapshot.Write(&b, next); err != nil {
			continue
		}
		if c, err := open(t, b.Bytes()).Catalog(options); err == nil {
			fail.Diff(t, complete.Catalog, c, same)
		}
	}
}

// limited is a writer that accepts n bytes.
type limited struct{ n int }

func (l *limited) Write(b []byte) (int, error) {
	if len(b) > l.n {
		return 0, io.ErrShortWrite
	}
	l.n -= len(b)
	return len(b), nil
}

// TestRealCatalogs stores the real catalogs beside the checkout, package by package and as a whole.
func TestRealCatalogs(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data")
	}
	dir := filepath.Join("..", "..", "..", "..", "shared", "catalogs")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no real catalogs beside the checkout")
	}
	// The large ones add nothing here, and take a minute under -race.
	small := fstest.MapFS{}
	for _, name := range []string{"cert-manager", "dbaas-operator", "eda-k8s-operator", "external-dns-operator", "kepler-operator", "shipwright-operator"} {
		names, err := filepath.Glob(filepath.Join(dir, name, "*"))
		fail.On(t, err)
		for _, file := range names {
			data, err := os.ReadFile(file)
			fail.On(t, err)
			small[name+"/"+filepath.Base(file)] = &fstest.MapFile{Data: data}
		}
	}
	for _, names := range []string{"*", "cert-manager,quay", "external-dns-operator,dbaas-operator"} {
		t.Run(names, func(t *testing.T) {
			options := catalog.Options{Keep: keep(names), Outline: true}
			want, err := catalog.Read(t.Context(), small, options)
			fail.On(t, err)
			data := write(t, snapshot.Content{Catalog: want, Options: options})
			got, err := open(t, data).Catalog(options)
			fail.On(t, err)
			fail.Diff(t, want, got, same)
		})
	}
}
