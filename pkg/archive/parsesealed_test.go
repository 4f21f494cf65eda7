package archive

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// sealedPair returns the outer and the inner set manifest of a complete encrypted set that has
// parts and builds on another set.
func sealedPair(t testing.TB) (outer, inner *set) {
	t.Helper()
	o := &Options{
		VolumeSize: 64 << 10, Encrypt: to(person(t)),
		Base: &Base{Sets: []state.SetRef{{Sequence: 2, Set: digest.FromString("2")}}, Has: func(d digest.Digest) bool { return d == blobs(1)[0].Digest }, RepositoryOf: func(digest.Digest) string { return "some/where" }},
	}
	p, err := o.pack(Content{Name: "series", Plan: writeBytes([]byte("{}")), Entries: slices.Values(blobs(1, 100, 20_000, 150_000))}, 3, digest.FromString("parent"), nil)
	fail.On(t, err)
	p.outer.Encryption.Manifest = digest.FromString("inner")
	for i := range p.outer.Volumes {
		for j := range p.outer.Volumes[i].Entries[1:] {
			e := &p.outer.Volumes[i].Entries[1+j]
			e.Digest = digest.FromString(e.Path)
		}
	}
	return p.outer, p.set
}

// TestParseSealed checks that encrypted sets are accepted as they are written, and refused if they
// are altered.
func TestParseSealed(t *testing.T) {
	t.Parallel()
	outer, inner := sealedPair(t)
	if _, err := parseSet(encoded(t, outer)); err != nil {
		t.Fatalf("a good one: %v", err)
	}
	if s, err := parseInner(encoded(t, inner), outer); err != nil || s.Volumes[0].Entries[1].Encrypted != &outer.Volumes[0].Entries[1] {
		t.Fatalf("a good inner one: %v", err)
	}
	d := digest.FromString("some")
	for name, tc := range map[string]struct {
		change func(outer, inner *set)
		want   string
	}{
		"not announced":      {func(o, _ *set) { o.Features = []string{featureBuildsOn} }, "its features are"},
		"a name":             {func(o, _ *set) { o.Name = "ops" }, "listed unencrypted"},
		"a plan":             {func(o, _ *set) { o.Plan = d }, "listed unencrypted"},
		"elsewhere":          {func(o, _ *set) { o.Omitted = []omitted{{d, 1, "a/b"}} }, "listed unencrypted"},
		"no recipient":       {func(o, _ *set) { o.Encryption.Recipient = "" }, "the recipient of the set"},
		"two recipients":     {func(o, _ *set) { o.Encryption.Recipient += "\n" + o.Encryption.Recipient }, "not one recipient"},
		"a long recipient":   {func(o, _ *set) { o.Encryption.Recipient = strings.Repeat("#", maxRecipient) + "\n" }, "too long"},
		"no key":             {func(o, _ *set) { o.Encryption.Key = "" }, "not an armored age file"},
		"a long key":         {func(o, _ *set) { o.Encryption.Key += strings.Repeat(" ", maxEncryptedKey) }, "too long"},
		"no inner manifest":  {func(o, _ *set) { o.Encryption.Manifest = "" }, "the inner set manifest"},
		"a path":             {func(o, _ *set) { o.Volumes[0].Entries[1].Path = "e/000009" }, `path "e/000009" is not e/000001`},
		"content":            {func(o, _ *set) { o.Volumes[0].Entries[1].Path = "" }, "is not e/000001"},
		"a path that leads":  {func(o, _ *set) { o.Volumes[0].Entries[2].Path = "../e/000002" }, "is not e/000002"},
		"a media type":       {func(o, _ *set) { o.Volumes[0].Entries[1].MediaType = "a/b" }, "is not e/000001"},
		"no digest":          {func(o, _ *set) { o.Volumes[0].Entries[1].Digest = "" }, "is not a sha256"},
		"sha512":             {func(o, _ *set) { o.Volumes[0].Entries[1].Digest = digest.SHA512.FromString("x") }, "is not a sha256"},
		"another frame":      {func(o, _ *set) { o.Volumes[0].Frame = d }, "does not match its entries"},
		"inner: encrypted":   {func(o, i *set) { i.Encryption = o.Encryption; i.Features = i.features() }, "listed unencrypted"},
		"inner: other set":   {func(_, i *set) { i.Parent = d }, "belongs to another set"},
		"inner: other base":  {func(_, i *set) { i.BuildsOn = []state.SetRef{{Sequence: 2, Set: d}} }, "belongs to another set"},
		"inner: a volume":    {func(_, i *set) { i.Volumes = i.Volumes[:1] }, "it has 1 volumes"},
		"inner: an entry":    {func(_, i *set) { i.Volumes[0].Entries = i.Volumes[0].Entries[:2] }, "2 entries in"},
		"inner: offset":      {func(_, i *set) { i.Volumes[0].Entries[1].Offset += blockSize }, "are not in e/000001"},
		"inner: size":        {func(_, i *set) { i.Volumes[0].Entries[1].Size = 1 << 40 }, "are not in e/000001"},
		"inner: less":        {func(_, i *set) { i.Volumes[0].Entries[1].Size = -1 }, "are not in e/000001"},
		"inner: label":       {func(_, i *set) { i.Volumes[0].Entries[0].Digest = d }, "another label"},
		"inner: hostile":     {func(_, i *set) { i.Volumes[0].Entries[1].Path = "../../etc/passwd" }, "does not belong in an archive"},
		"inner: twice":       {func(_, i *set) { i.Volumes[0].Entries[2].Path = i.Volumes[0].Entries[1].Path }, "is there twice"},
		"inner: part":        {func(_, i *set) { i.Volumes[1].Entries[1].Part.At++ }, "begins at"},
		"inner: no features": {func(_, i *set) { i.Features = nil }, "its features are"},
	} {
		t.Run(name, func(t *testing.T) {
			outer, inner := sealedPair(t)
			tc.change(outer, inner)
			_, err := parseSet(encoded(t, outer))
			if strings.HasPrefix(name, "inner: ") {
				raw := encoded(t, inner)
				outer, err = parseSet(encoded(t, outer))
				fail.On(t, err)
				_, err = parseInner(raw, outer)
			}
			says(t, err, tc.want)
		})
	}
}

// FuzzParseInner checks that content listed in an accepted inner set manifest is in the files of
// the outer one, and that writing it again gives the same text.
func FuzzParseInner(f *testing.F) {
	outer, inner := sealedPair(f)
	f.Add(encoded(f, inner))
	f.Add(encoded(f, outer))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := parseInner(raw, outer)
		if err != nil {
			return
		}
		for i := range s.Volumes {
			for _, e := range s.Volumes[i].Entries[1:] {
				if e.Encrypted == nil || e.Size > e.Encrypted.Size || e.Offset != e.Encrypted.Offset {
					t.Errorf("%s is in %+v", e.path(), e.Encrypted)
				}
			}
		}
		text := encoded(t, s)
		again, err := parseInner(text, outer)
		fail.On(t, err)
		if !bytes.Equal(text, encoded(t, again)) {
			t.Error("it is written otherwise the second time")
		}
	})
}

// TestEncryptedSubstitution checks that other content is detected by its digest if an attacker, who
// can write to the disk and knows the public half of the key, puts it there.
func TestEncryptedSubstitution(t *testing.T) {
	t.Parallel()
	s, dir, ann := newSample(1, 5000), t.TempDir(), person(t)
	s.write(t, dir, Options{Encrypt: to(ann)})
	a := openAs(t, dir, ann)
	layer := s.Entries[1]
	e := locations(a.blobs, layer.Digest)[0].entry
	recipient, err := parseRecipient(a.selected().outer.Encryption.Recipient)
	fail.On(t, err)
	enc, err := newEncrypter(recipient, DefaultVolumeSize)
	fail.On(t, err)
	forged, err := encryptTo(make([]byte, enc.contentSize(e.Encrypted.Size)), recipient)
	if err != nil || int64(len(forged)) != e.Encrypted.Size {
		t.Fatalf("%d bytes for %d, %v", len(forged), e.Encrypted.Size, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, volumeName(1, 1)), os.O_RDWR, 0)
	fail.On(t, err)
	_, err = f.WriteAt(forged, e.Offset)
	fail.On(t, errors.Join(err, f.Close()))
	var damage *DamageError
	if _, err := a.readAll(context.Background(), locations(a.blobs, layer.Digest), 1<<20); !errors.As(err, &damage) || !strings.Contains(err.Error(), "its digest is") {
		t.Errorf("it is read: %v", err)
	}
	if err := openAs(t, dir).Verify(t.Context(), nil); !errors.As(err, &damage) {
		t.Errorf("Verify = %v", err)
	}
}
