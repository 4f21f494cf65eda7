package archive

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// TestTamperedCompact reads deltas that are not what their writer made, and what is based on them.
func TestTamperedCompact(t *testing.T) {
	t.Parallel()
	for name, tamper := range map[string]func(h *delta.Header, frames []byte) []byte{
		"content":  func(h *delta.Header, b []byte) []byte { h.ContentHash[0]++; return b },
		"length":   func(h *delta.Header, b []byte) []byte { h.ContentSize--; return b },
		"no bases": func(h *delta.Header, b []byte) []byte { h.Bases = nil; return b },
		"frames":   func(_ *delta.Header, b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"recipe":   func(h *delta.Header, b []byte) []byte { h.Recipe = nil; return b },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newCompact(t, 3), t.TempDir()
			s.Deltas[1] = tampered(t, s.Deltas[1], tamper)
			s.write(t, dir, Options{})
			a := mustOpen(t, dir)
			for i, layer := range s.layers {
				raw, err := readBlob(t, a, layer, 0)
				if i < 2 {
					fail.On(t, err)
				} else if _, ok := errors.AsType[*DeltaError](err); !ok || advice.KindOf(err) != advice.Mismatch {
					t.Errorf("layer %d: %d bytes, %v", i, len(raw), err)
				}
			}
			if f := a.DeltaFailures(); len(f) == 0 || !slices.ContainsFunc(f, func(e *DeltaError) bool { return e.Blob == s.layers[2].Digest }) {
				t.Errorf("DeltaFailures = %v", f)
			}
		})
	}
}

// TestCompactRefused checks what Create refuses.
func TestCompactRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(s *compactSample, o *Options)
		want   string
	}{
		"no base":      {func(s *compactSample, _ *Options) { s.Deltas[1].Bases[0].Digest = digest.FromString("other") }, "neither the set nor the site has"},
		"size":         {func(s *compactSample, _ *Options) { s.Deltas[1].Bases[0].Size-- }, "which has 40000"},
		"format":       {func(s *compactSample, _ *Options) { s.Deltas[1].Format = 3 }, "has the format 3"},
		"first format": {func(s *compactSample, _ *Options) { s.Deltas[1].Format = 0 }, "has to build on another one"},
		"itself": {func(s *compactSample, _ *Options) {
			s.Deltas[0].Bases = []DeltaBase{{s.layers[2].Digest, s.layers[2].Size, "a"}}
		}, "is based on itself"},
		"repair": {func(s *compactSample, o *Options) {
			o.Repair = &Repair{state.SetRef{Sequence: 1, Set: s.none.Digest}, s.none.Digest}
			s.Plan, s.Index = nil, nil
		}, "a repair cannot have"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, opts := newCompact(t, 2), Options{}
			tc.change(s, &opts)
			_, err := Create(t.Context(), t.TempDir(), s.content(), opts)
			says(t, err, tc.want)
		})
	}
}

// TestParseCompact checks which set manifests with compact deltas are refused: what would never end, or take too long.
func TestParseCompact(t *testing.T) {
	t.Parallel()
	s, dir := newCompact(t, maxDepth), t.TempDir()
	s.write(t, dir, Options{})
	of := func(now *set, layer ocispec.Descriptor) *Delta {
		return &now.Deltas[slices.IndexFunc(now.Deltas, func(d Delta) bool { return d.Digest == layer.Digest })]
	}
	on := func(layers ...ocispec.Descriptor) (bases []DeltaBase) {
		bases = append(bases, elements.Map(layers, func(l ocispec.Descriptor) DeltaBase { return DeltaBase{l.Digest, l.Size, "a"} })...)
		return bases
	}
	for name, tc := range map[string]struct {
		change func(now *set)
		want   string
	}{
		"no feature":   {func(now *set) { now.Features = []string{featureDeltas} }, "features"},
		"first format": {func(now *set) { of(now, s.none).Format = 0 }, "builds on nothing"},
		"format":       {func(now *set) { of(now, s.none).Format = 3 }, "has the format 3"},
		"no base":      {func(now *set) { of(now, s.none).Bases = on(ocispec.Descriptor{Digest: digest.FromString("other")}) }, "neither the set nor the site has"},
		"size":         {func(now *set) { of(now, s.of).Bases[0].Size++ }, "which has 40000"},
		"itself":       {func(now *set) { of(now, s.layers[1]).Bases = on(s.layers[4]) }, "is based on itself"},
		"long circle":  {func(now *set) { of(now, s.layers[1]).Bases = on(s.layers[8]) }, "is based on itself"},
		"depth":        {func(now *set) { of(now, s.of).Bases = on(s.layers[8]) }, s.of.Digest.String() + " needs"},
		"in a repair": {func(now *set) {
			now.Repairs = &state.SetRef{Sequence: 1, Set: s.none.Digest}
			now.Features = now.features()
		}, "builds on nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := stored(t, dir, setID{sequence: 1})
			tc.change(now)
			now.refused(t, tc.want)
		})
	}
	whole := stored(t, dir, setID{sequence: 1})
	of(whole, s.of).Bases = on(s.layers[7])
	_, err := parseSet(encoded(t, whole))
	fail.On(t, err) // eight deltas one after another
	var many []*Delta
	for i := range 20 { // four of each depth, based on all four below
		d := &Delta{Digest: digest.FromString(fmt.Sprint(i)), Format: CompactFormat}
		for _, b := range many[max(0, i/4*4-4) : i/4*4] {
			d.Bases = append(d.Bases, DeltaBase{Digest: b.Digest})
		}
		many = append(many, d)
	}
	c := chains{size: func(digest.Digest) (int64, bool) { return 0, true }}
	fail.On(t, c.check(many[:16]))
	says(t, c.check(many), many[16].Digest.String()+" needs more than 255 deltas")
}

// TestEveryBitOfCompactCounts checks that a changed bit is found, and that content is what it was or an error.
func TestEveryBitOfCompactCounts(t *testing.T) {
	t.Parallel()
	s, dir := newCompact(t, 3), t.TempDir()
	s.write(t, dir, Options{VolumeSize: 48 << 10})
	for name, text := range folder(t, dir) {
		for range sparsely(70, 20) {
			bit := rand.Int64N(int64(len(text)) * 8)
			undo := alter(t, filepath.Join(dir, name), flip(bit))
			if err := inspect(t, dir); err == nil {
				t.Errorf("%s: bit %d is not found", name, bit)
			}
			if a, err := Open(dir); err == nil {
				for _, e := range s.Entries {
					if raw, err := readBlob(t, a, e, 0); err == nil && !bytes.Equal(raw, s.bytes[e.Digest]) {
						t.Errorf("%s: after bit %d, %s has other bytes", name, bit, e.Digest)
					}
				}
				fail.On(t, a.Close())
			}
			undo()
		}
	}
}
