package archive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// A deltaLine is a series of archives with one layer, which changes a little each month and is carried as a delta
// from the second month on.
type deltaLine struct {
	line
	layers []ocispec.Descriptor
}

// deltaMonths returns n months in volumes of a size.
func deltaMonths(t *testing.T, n int, change func(o *Options)) *deltaLine {
	t.Helper()
	s := &deltaLine{}
	for range n {
		s.write(t, change, nil)
	}
	return s
}

// write writes the archive of the next month. tamper may be nil, or changes its deltas.
func (s *deltaLine) write(t *testing.T, change func(o *Options), tamper func(t *testing.T, c CarriedDelta) CarriedDelta) {
	t.Helper()
	month := len(s.layers)
	var raw []byte
	if month == 0 {
		layer := newSample(7, 60_000)
		raw = layer.bytes[layer.Entries[1].Digest]
	} else {
		raw = s.samples[month-1].bytes[s.layers[month-1].Digest]
	}
	raw = bytes.Clone(raw)
	copy(raw[1000*month:], "another month")
	now := &sample{bytes: map[digest.Digest][]byte{}, plan: []byte{'{', byte('0' + month), '}'}}
	now.Name, now.Plan = "prod", writeBytes(now.plan)
	s.layers = append(s.layers, now.add("application/vnd.oci.image.layer.v1.tar", raw))
	now.add("", []byte{'c', byte(month)})
	opts := Options{VolumeSize: 64 << 10}
	if month > 0 {
		last := s.layers[month-1]
		opts.Base = &Base{
			Sets: s.sets, Has: func(digest.Digest) bool { return false },
			HasBlob: func(d digest.Digest) bool { return d == last.Digest },
		}
		made := carried(t, s.layers[month], raw, based{last, s.samples[month-1].bytes[last.Digest]})
		if tamper != nil {
			made = tamper(t, made)
		}
		now.Deltas = []CarriedDelta{made}
	}
	if change != nil {
		change(&opts)
	}
	dir := filepath.Join(t.TempDir(), "disk")
	now.write(t, dir, opts)
	info := newest(t, dir)
	s.samples, s.dirs, s.sets = append(s.samples, now), append(s.dirs, dir), append(s.sets, info.SetRef)
}

// A based is a blob that a delta is based on.
type based struct {
	ocispec.Descriptor
	raw []byte
}

// carried returns the delta of a layer that is based on others.
func carried(t testing.TB, blob ocispec.Descriptor, raw []byte, on ...based) CarriedDelta {
	t.Helper()
	d := Delta{Digest: blob.Digest, Size: blob.Size}
	var bases []delta.Base
	for _, b := range on {
		d.Bases = append(d.Bases, DeltaBase{b.Digest, b.Size, "team/app"})
		bases = append(bases, delta.Base{Digest: b.Digest, Content: bytes.NewReader(b.raw), Size: b.Size})
	}
	recipe, _, err := recompress.Detect(t.Context(), bytes.NewReader(raw), blob.Size, recompress.DetectOptions{})
	fail.On(t, err)
	text, err := recipe.MarshalBinary()
	fail.On(t, err)
	var file bytes.Buffer
	target := delta.Target{Digest: blob.Digest, Size: blob.Size, Content: bytes.NewReader(raw), ContentSize: blob.Size, Recipe: text}
	_, err = delta.Encode(t.Context(), &file, target, bases, delta.Options{})
	fail.On(t, err)
	d.File = digest.FromBytes(file.Bytes())
	return CarriedDelta{Delta: d, FileSize: int64(file.Len()), Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(file.Bytes())), nil
	}}
}

// rebuilt reads the layer of a month from an archive.
func (s *deltaLine) rebuilt(t *testing.T, a *Archive, month int) error {
	t.Helper()
	raw, err := readBlob(t, a, s.layers[month], 0)
	if err == nil && !bytes.Equal(raw, s.samples[month].bytes[s.layers[month].Digest]) {
		t.Errorf("month %d: other bytes", month)
	}
	return err
}

// TestLaterDependents damages a layer that deltas of later archives need: what they cannot make is reported with it, but
// not as lost.
func TestLaterDependents(t *testing.T) {
	t.Parallel()
	s := deltaMonths(t, 3, nil)
	for e := range mustOpen(t, s.dirs[0]).Entries() {
		if e.Digest == s.layers[0].Digest {
			alter(t, filepath.Join(s.dirs[0], e.Volume), flip(8*(e.Offset+999)))
		}
	}
	a := mustOpen(t, s.dirs...)
	if s.rebuilt(t, a, 2) == nil {
		t.Error("the last layer can be made")
	}
	want := []digest.Digest{s.layers[1].Digest, s.layers[2].Digest}
	slices.Sort(want)
	damage, ok := errors.AsType[*DamageError](a.Verify(t.Context(), nil))
	if !ok || len(damage.Damage) != 1 || !slices.Equal(damage.Lost(), []digest.Digest{s.layers[0].Digest}) || !slices.Equal(damage.Damage[0].Dependents, want) {
		t.Errorf("%+v, want %v", damage, want)
	}
}

// TestReadDelta reads a blob that two archives carry as deltas, one based on the other, from offsets too, and from
// a mirror.
func TestReadDelta(t *testing.T) {
	t.Parallel()
	s := deltaMonths(t, 3, nil)
	all := mustOpen(t, s.dirs...)
	fail.On(t, s.rebuilt(t, all, 2))
	last := s.layers[2]
	for _, offset := range []int64{1, 30_000, last.Size} {
		raw, err := readUnhashed(t, all, last, offset)
		if err != nil || !bytes.Equal(raw, s.samples[2].bytes[last.Digest][offset:]) {
			t.Errorf("from %d: %d bytes, %v", offset, len(raw), err)
		}
	}
	info := all.Selected()
	if info.Deltas != 1 || info.RebuiltBytes != last.Size || info.DeltaBytes == 0 || info.DeltaBytes > last.Size/10 || !slices.Contains(info.Features, featureDeltas) {
		t.Errorf("%+v", info)
	}
	if !all.Has(last) || all.CheckContent(last) != nil || len(all.MissingBases(last)) > 0 {
		t.Error("the archive does not report the blob")
	}
	// The newest alone needs the layer of the month before.
	alone := mustOpen(t, s.dirs[2])
	if missing := alone.MissingBases(last); len(missing) != 1 || missing[0].Digest != s.layers[1].Digest || missing[0].Repository != "team/app" {
		t.Errorf("MissingBases = %+v", missing)
	}
	err := s.rebuilt(t, alone, 2)
	var failed *DeltaError
	if !errors.As(err, &failed) || !failed.MissingBase || failed.Blob != last.Digest || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without its base: %v", err)
	}
	if f := alone.DeltaFailures(); len(f) != 1 || f[0].Size != last.Size {
		t.Errorf("DeltaFailures = %v", f)
	}
	alone.UseBases(func(_ context.Context, base DeltaBase) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(s.samples[1].bytes[base.Digest])), nil
	})
	fail.On(t, s.rebuilt(t, alone, 2))
	alone = mustOpen(t, s.dirs[2])
	alone.UseBases(func(context.Context, DeltaBase) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(s.samples[0].bytes[s.layers[0].Digest])), nil
	})
	if err := s.rebuilt(t, alone, 2); err == nil {
		t.Error("another base gives the blob")
	}
}

// TestDamagedDeltaBase reads a base from the mirror if the earlier archive that has it is damaged.
func TestDamagedDeltaBase(t *testing.T) {
	t.Parallel()
	s := deltaMonths(t, 2, nil)
	a := mustOpen(t, s.dirs...)
	at := locations(a.blobs, s.layers[0].Digest)[0]
	alter(t, filepath.Join(s.dirs[0], volumeName(1, int(at.volume)+1)), flip((at.entry.Offset+at.entry.Size/2)*8))
	var failed *DeltaError
	if err := s.rebuilt(t, a, 1); !errors.As(err, &failed) || !failed.MissingBase || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("from a damaged base: %v", err)
	}
	a.UseBases(func(_ context.Context, base DeltaBase) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(s.samples[0].bytes[base.Digest])), nil
	})
	fail.On(t, s.rebuilt(t, a, 1))
}

// TestEncryptedDeltas carries a delta in an encrypted archive, whose disk does not tell of it.
func TestEncryptedDeltas(t *testing.T) {
	t.Parallel()
	who := person(t)
	s := deltaMonths(t, 2, func(o *Options) { o.Encrypt = to(who) })
	a, err := OpenWith(OpenOptions{}, s.dirs...)
	fail.On(t, err)
	defer a.Close()
	fail.Diff(t, 0, a.Selected().Deltas)
	raw, err := os.ReadFile(filepath.Join(s.dirs[1], setName(2)))
	if err != nil || bytes.Contains(raw, []byte(s.layers[1].Digest.Encoded())) || bytes.Contains(raw, []byte("deltas")) {
		t.Errorf("the outer set manifest tells of the delta: %v", err)
	}
	b, err := OpenWith(OpenOptions{Identities: []age.Identity{who}}, s.dirs...)
	fail.On(t, err)
	defer b.Close()
	fail.On(t, s.rebuilt(t, b, 1))
}

// TestDeltaDamage checks that damage to a delta is reported for its blob, and that a repair with the blob itself is
// used in place of it.
func TestDeltaDamage(t *testing.T) {
	t.Parallel()
	s := deltaMonths(t, 2, nil)
	a := mustOpen(t, s.dirs...)
	file := s.samples[1].Deltas[0].File
	at := locations(a.blobs, file)[0]
	alter(t, filepath.Join(s.dirs[1], volumeName(2, int(at.volume)+1)), flip((at.entry.Offset+at.entry.Size/2)*8))
	var damage *DamageError
	if err := mustOpen(t, s.dirs...).Verify(t.Context(), nil); !errors.As(err, &damage) || !slices.Equal(damage.Lost(), []digest.Digest{s.layers[1].Digest}) {
		t.Fatalf("Verify = %v", err)
	}
	var failed *DeltaError
	if err := s.rebuilt(t, mustOpen(t, s.dirs...), 1); !errors.As(err, &failed) || failed.MissingBase {
		t.Errorf("reading a damaged delta: %v", err)
	}
	repair := s.repair(t, 1, []digest.Digest{s.layers[1].Digest})
	repaired := mustOpen(t, append(s.dirs, repair)...)
	fail.On(t, s.rebuilt(t, repaired, 1))
	if err := repaired.Verify(t.Context(), nil); !errors.As(err, &damage) || !damage.Recoverable() {
		t.Errorf("Verify with the repair = %v", err)
	}
	// Without the sets before, too.
	if alone := mustOpen(t, s.dirs[1], repair); s.rebuilt(t, alone, 1) != nil || len(alone.MissingBases(s.layers[1])) > 0 {
		t.Error("the repair needs the base")
	}
}

// TestDeltaSums checks what someone sees who extracts the volumes.
func TestDeltaSums(t *testing.T) {
	t.Parallel()
	s := deltaMonths(t, 2, nil)
	a := mustOpen(t, s.dirs[1])
	for path, want := range map[string]string{
		sumsPath:   s.layers[1].Digest.Encoded() + "  " + layout.BlobPath(s.layers[1].Digest) + "\n",
		deltasPath: "gantry archive extract file://DISK --base",
	} {
		i := slices.IndexFunc(a.files, func(p location) bool { return p.entry.Path == path })
		raw, err := a.readAll(t.Context(), a.files[i:i+1], 1<<20)
		if err != nil || !strings.Contains(string(raw), want) {
			t.Errorf("%s is %q, %v", path, raw, err)
		}
	}
}

// TestDeltaAgain writes the same archive again, and continues one that was interrupted.
func TestDeltaAgain(t *testing.T) {
	t.Parallel()
	s := deltaMonths(t, 2, nil)
	opts := Options{VolumeSize: 64 << 10, Base: &Base{
		Sets: s.sets[:1], Has: func(digest.Digest) bool { return false },
		HasBlob: func(d digest.Digest) bool { return d == s.layers[0].Digest },
	}}
	w := begin(t, s.dirs[1], s.samples[1], opts)
	if !w.Complete() || !w.Has(s.layers[1]) {
		t.Error("the archive is written again")
	}
	fail.On(t, w.Close())
	dir := t.TempDir()
	w = begin(t, dir, s.samples[1], opts)
	unread := func(context.Context, int64) (io.ReadCloser, error) {
		return nil, errors.New("the blob itself is not needed")
	}
	fail.On(t, w.PutBlob(t.Context(), "", s.layers[1], unread))
	fail.On(t, w.Close())
	w = begin(t, dir, s.samples[1], opts)
	defer w.Close()
	if !w.Has(s.layers[1]) {
		t.Error("the delta is written again")
	}
}

// TestDeltasRefused checks what Create refuses: deltas without a promised base, among others.
func TestDeltasRefused(t *testing.T) {
	t.Parallel()
	s := deltaMonths(t, 2, nil)
	base := func() *Base {
		return &Base{Sets: s.sets[:1], Has: func(digest.Digest) bool { return false }, HasBlob: func(d digest.Digest) bool { return d == s.layers[0].Digest }}
	}
	for name, tc := range map[string]struct {
		change func(c *CarriedDelta, o *Options)
		want   string
	}{
		"no base":         {func(_ *CarriedDelta, o *Options) { o.Base = nil }, "has to build on another one"},
		"promised by no":  {func(_ *CarriedDelta, o *Options) { o.Base.HasBlob = nil }, "which the site is not known to have"},
		"omitted":         {func(_ *CarriedDelta, o *Options) { o.Base.Has = func(digest.Digest) bool { return true } }, "not among the content"},
		"another size":    {func(c *CarriedDelta, _ *Options) { c.Size++ }, "not among the content"},
		"its own base":    {func(c *CarriedDelta, _ *Options) { c.Bases = []DeltaBase{{c.Digest, 1, "a"}} }, "has the base"},
		"repository":      {func(c *CarriedDelta, _ *Options) { c.Bases = []DeltaBase{{s.layers[0].Digest, 1, "../a"}} }, "has the base"},
		"a file of a set": {func(c *CarriedDelta, _ *Options) { c.File = s.samples[1].Entries[1].Digest }, "is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := *s.samples[1]
			now.Deltas = slices.Clone(now.Deltas)
			opts := Options{VolumeSize: 64 << 10, Base: base()}
			tc.change(&now.Deltas[0], &opts)
			w, err := Create(t.Context(), t.TempDir(), now.content(), opts)
			if err == nil {
				_ = w.Close()
			}
			says(t, err, tc.want)
		})
	}
}

// TestParseDeltas checks which set manifests with deltas are refused.
func TestParseDeltas(t *testing.T) {
	t.Parallel()
	s := deltaMonths(t, 2, nil)
	other := digest.FromString("other")
	for name, tc := range map[string]struct {
		change func(s *set)
		want   string
	}{
		"no feature":     {func(s *set) { s.Features = []string{featureBuildsOn} }, "features"},
		"builds on none": {func(s *set) { s.BuildsOn, s.Omitted, s.Features = nil, nil, []string{featureDeltas} }, "builds on nothing"},
		"no file":        {func(s *set) { s.Deltas[0].File = other }, "is in no volume"},
		"blob too":       {func(s *set) { s.Deltas[0].Digest, s.Deltas[0].File = s.Deltas[0].File, other }, "is in no volume"},
		"order":          {func(s *set) { s.Deltas = append(s.Deltas, s.Deltas[0]) }, "does not come after"},
		"two of one file": {func(s *set) {
			d := s.Deltas[0]
			d.Digest = "sha256:" + digest.Digest(strings.Repeat("f", 64))
			s.Deltas = append(s.Deltas, d)
		}, "is for two blobs"},
		"size":       {func(s *set) { s.Deltas[0].Size = -1 }, "of -1 bytes"},
		"base twice": {func(s *set) { s.Deltas[0].Bases = append(s.Deltas[0].Bases, s.Deltas[0].Bases[0]) }, "has the base"},
		"bases":      {func(s *set) { s.Deltas[0].Bases = make([]DeltaBase, maxBases+1) }, "17 bases"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := stored(t, s.dirs[1], setID{sequence: 2})
			tc.change(now)
			now.refused(t, tc.want)
		})
	}
}

// TestDeltaOfLater checks that a set cannot make the reader go around in circles: a base is never a delta of
// the same set, or of a later one.
func TestDeltaOfLater(t *testing.T) {
	t.Parallel()
	s := deltaMonths(t, 2, nil)
	a := mustOpen(t, s.dirs...)
	at := a.deltas[s.layers[1].Digest]
	at.Bases[0].Digest, at.Bases[0].Size = at.Digest, at.Size
	_, err := a.openBase(t.Context(), at, at.Bases[0])
	says(t, err, "which is not before 2")
	if missing := a.MissingBases(s.layers[1]); len(missing) > 0 {
		t.Errorf("MissingBases = %v", missing)
	}
}

// TestReadsDeltas checks what a receipt says about a site.
func TestReadsDeltas(t *testing.T) {
	t.Parallel()
	if !ReadsDeltas(Reader(nil)) || ReadsDeltas(nil) || ReadsDeltas(&state.ArchiveReader{Format: 1, Features: []string{featureBuildsOn}}) {
		t.Errorf("Reader = %+v", Reader(nil))
	}
}
