package airgap

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// compact writes an archive in volumes that carries the layer of each image as a delta of the one before.
func (w *fixture) compact(p *plan.Plan, folder string) {
	w.t.Helper()
	var entries, index []ocispec.Descriptor
	for desc := range mirror.Content(p) {
		if entries = append(entries, desc); desc.MediaType == ocispec.MediaTypeImageManifest {
			index = append(index, desc)
		}
	}
	c := archive.Content{Name: p.Name, Plan: p.Write, Index: slices.Values(index), Entries: slices.Values(entries)}
	for i := 2; i <= len(p.Images); i++ {
		base, blob := describe(p, layerOf("layer "+string(rune('0'+i-1)))), describe(p, layerOf("layer "+string(rune('0'+i))))
		raw := w.content[blob.Digest]
		recipe, _, err := recompress.Detect(w.t.Context(), bytes.NewReader(raw), blob.Size, recompress.DetectOptions{})
		fail.On(w.t, err)
		text, err := recipe.MarshalBinary()
		fail.On(w.t, err)
		var file bytes.Buffer
		_, err = delta.Encode(w.t.Context(), &file, delta.Target{Digest: blob.Digest, Size: blob.Size, Content: bytes.NewReader(raw), ContentSize: blob.Size, Recipe: text},
			[]delta.Base{{Digest: base.Digest, Content: bytes.NewReader(w.content[base.Digest]), Size: base.Size}}, delta.Options{})
		fail.On(w.t, err)
		c.Deltas = append(c.Deltas, archive.CarriedDelta{
			Delta: archive.Delta{
				Digest: blob.Digest, Size: blob.Size, Format: archive.CompactFormat, File: digest.FromBytes(file.Bytes()),
				Bases: []archive.DeltaBase{{Digest: base.Digest, Size: base.Size, Repository: repository(i - 1)}},
			},
			FileSize: int64(file.Len()),
			Open:     func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(file.Bytes())), nil },
		})
	}
	out, err := archive.Create(w.t.Context(), w.path(folder), c, archive.Options{VolumeSize: 16 << 10})
	fail.On(w.t, err)
	for _, e := range entries {
		fail.On(w.t, out.PutBlob(w.t.Context(), "", e, func(context.Context, int64) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(w.content[e.Digest])), nil
		}))
	}
	fail.On(w.t, errors.Join(out.Finish(w.t.Context()), out.Close()))
}

// TestDependents damages what the layers of other images are deltas of: all these images are reported as broken, the
// request has only what is damaged, and the repair makes all of them whole.
func TestDependents(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]int{"layer 1": 4, "layer 2": 3, "layer 4": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			p := w.month(4)
			w.compact(p, "disk")
			file := layerOf(name)
			for d := range w.open("disk").Deltas() {
				if d.Digest == layerOf(name) {
					file = d.File
				}
			}
			w.spoil("disk", content(file))
			assess := func(folders ...string) *Assessment {
				have, damage := w.damage(folders...)
				got, err := Assess(t.Context(), have, []string{w.path("disk")}, damage)
				fail.On(t, err)
				return got
			}
			var want []string
			for i := 5 - broken; i <= 4; i++ {
				want = append(want, source(i))
			}
			fail.Diff(t, want, assess("disk").Broken)
			r, err := w.request(false, "disk")
			fail.On(t, err)
			fail.Diff(t, map[digest.Digest][]string{layerOf(name): {source(5 - broken)}}, wants(r))
			w.repairInto("repair", "disk")
			fail.Diff(t, []string{}, assess("disk", "repair").Broken)
		})
	}
	w := newFixture(t)
	p := w.month(4)
	w.compact(p, "disk")
	site := w.importSite()
	site.mustBring(p, "disk")
	for desc := range mirror.Content(p) {
		if !site.registry.holds(desc.Digest) {
			t.Errorf("%s is not imported", desc.Digest)
		}
	}
	// Without the volume that has the first layer, the images are not available.
	for e := range w.open("disk").Entries() {
		if e.Digest == layerOf("layer 1") {
			fail.On(t, os.Remove(filepath.Join(w.path("disk"), e.Volume)))
		}
	}
	have, _ := w.damage("disk")
	contents, err := p.Contents()
	fail.On(t, err)
	for i := range p.Images {
		if got := CheckImage(have, contents, &p.Images[i]); got != Unavailable {
			t.Errorf("image %d: %s", i+1, got)
		}
	}
	if err := missingBases(have, describe(p, layerOf("layer 3"))); err == nil || !strings.Contains(err.Error(), "volume") {
		t.Errorf("missingBases = %v", err)
	}
}
