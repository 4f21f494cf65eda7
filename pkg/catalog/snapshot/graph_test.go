package snapshot_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/snapshot"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// shape is what updates depend on.
type shape struct {
	Name, Default string
	Channels      []catalog.Channel
	Versions      []string
	Deprecated    []catalog.Deprecation
}

func shapes(c *catalog.Catalog) []shape {
	var all []shape
	for _, p := range c.Packages {
		s := shape{Name: p.Name, Default: p.DefaultChannel}
		for _, ch := range p.Channels {
			s.Channels = append(s.Channels, catalog.Channel{Name: ch.Name, Package: ch.Package, Entries: ch.Entries})
		}
		for _, b := range p.Bundles {
			text := b.Name + " " + b.Version.String() + " " + b.Release
			if b.VersionErr != nil {
				text += " unknown"
			}
			s.Versions = append(s.Versions, text)
		}
		for _, d := range p.Deprecations {
			s.Deprecated = append(s.Deprecated, d.Entries...)
		}
		all = append(all, s)
	}
	return all
}

// A graph is the same after writing and reading.
func TestGraph(t *testing.T) {
	t.Parallel()
	catalogs := map[string]*catalog.Catalog{"text": read(t, catalog.Options{}), "without text": read(t, catalog.Options{DropText: func(*catalog.Bundle) {}})}
	const folder = "../../../../shared/catalogs"
	for _, name := range []string{"external-dns-operator", "gatekeeper-operator-product"} {
		if _, err := os.Stat(folder); err != nil {
			break
		}
		c, err := catalog.Read(t.Context(), os.DirFS(filepath.Join(folder, name)), catalog.Options{})
		fail.On(t, err)
		catalogs[name] = c
	}
	for name, c := range catalogs {
		for _, created := range []time.Time{{}, time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC)} {
			var b bytes.Buffer
			fail.On(t, (snapshot.Graph{Catalog: c, Created: created}).Write(&b))
			g, err := snapshot.ReadGraph(&b)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(shapes(c), shapes(g.Catalog)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if !g.Created.Equal(created) {
				t.Errorf("%s: created %s, want %s", name, g.Created, created)
			}
		}
	}
}

// Damage is an error.
func TestDamagedGraph(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	fail.On(t, (snapshot.Graph{Catalog: read(t, catalog.Options{})}).Write(&b))
	whole := b.Bytes()
	if _, err := snapshot.ReadGraph(bytes.NewReader(whole[:len(whole)-20])); err == nil {
		t.Error("a truncated graph was read")
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-6] ^= 1
	if _, err := snapshot.ReadGraph(bytes.NewReader(flipped)); err == nil {
		t.Error("a graph with another checksum was read")
	}
	b.Reset()
	z := gzip.NewWriter(&b)
	for range 257 {
		_, _ = z.Write(bytes.Repeat([]byte(" "), 1<<20)) // into memory
	}
	fail.On(t, z.Close())
	if _, err := snapshot.ReadGraph(&b); err == nil {
		t.Error("a graph of 257 MiB was read")
	}
}
