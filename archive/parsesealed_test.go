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
)

// sealedPair is an encrypted set with parts that builds on another, complete, and its
// inner set manifest.
func sealedPair(t testing.TB) (outer, inner *set) {
	t.Helper()
	o := &Options{
		VolumeSize: 64 << 10, Encrypt: to(person(t)),
		Base: &Base{Sets: []BaseSet{{2, digest.FromString("2")}}, Holds: func(d digest.Digest) bool { return d == blobs(1)[0].Digest }, Where: func(digest.Digest) string { return "some/where" }},
	}
	p, err := o.pack(Content{Name: "series", Plan: bytesText([]byte("{}")), Entries: slices.Values(blobs(1, 100, 20_000, 150_000))}, 3, digest.FromString("parent"), nil)
	if err != nil {
		t.Fatal(err)
	}
	p.outer.Encryption.Manifest = digest.FromString("inner")
	for i := range p.outer.Volumes {
		for j := range p.outer.Volumes[i].Entries[1:] {
			e := &p.outer.Volumes[i].Entries[1+j]
			e.Digest = digest.FromString(e.Path)
		}
	}
	return p.outer, p.set
}

// TestParseSealed takes encrypted sets as they are written, and nothing else.
func TestParseSealed(t *testing.T) {
	t.Parallel()
	outer, inner := sealedPair(t)
	if _, err := parseSet(encoded(t, outer)); err != nil {
		t.Fatalf("a good one: %v", err)
	}
	if s, err := parseInner(encoded(t, inner), outer); err != nil || s.Volumes[0].Entries[1].Sealed != &outer.Volumes[0].Entries[1] {
		t.Fatalf("a good inner one: %v", err)
	}
	d := digest.FromString("some")
	for name, tc := range map[string]struct {
		change func(outer, inner *set)
		want   string
	}{
		"not announced":      {func(o, _ *set) { o.Features = []string{featureBuildsOn} }, "its features are"},
		"a name":             {func(o, _ *set) { o.Name = "ops" }, "in the open"},
		"a plan":             {func(o, _ *set) { o.Plan = d }, "in the open"},
		"elsewhere":          {func(o, _ *set) { o.Elsewhere = []held{{d, 1, "a/b"}} }, "in the open"},
		"no recipient":       {func(o, _ *set) { o.Encryption.Recipient = "" }, "the recipient of the set"},
		"two recipients":     {func(o, _ *set) { o.Encryption.Recipient += "\n" + o.Encryption.Recipient }, "not one recipient"},
		"a long recipient":   {func(o, _ *set) { o.Encryption.Recipient = strings.Repeat("#", maxRecipient) + "\n" }, "too long"},
		"no key":             {func(o, _ *set) { o.Encryption.Key = "" }, "no armored age file"},
		"a long key":         {func(o, _ *set) { o.Encryption.Key += strings.Repeat(" ", maxSealedKey) }, "too long"},
		"no inner manifest":  {func(o, _ *set) { o.Encryption.Manifest = "" }, "the inner set manifest"},
		"a path":             {func(o, _ *set) { o.Volumes[0].Entries[1].Path = "e/000009" }, `path "e/000009" is not e/000001`},
		"content":            {func(o, _ *set) { o.Volumes[0].Entries[1].Path = "" }, "is not e/000001"},
		"a path that leads":  {func(o, _ *set) { o.Volumes[0].Entries[2].Path = "../e/000002" }, "is not e/000002"},
		"a media type":       {func(o, _ *set) { o.Volumes[0].Entries[1].MediaType = "a/b" }, "is not e/000001"},
		"no digest":          {func(o, _ *set) { o.Volumes[0].Entries[1].Digest = "" }, "is no sha256"},
		"sha512":             {func(o, _ *set) { o.Volumes[0].Entries[1].Digest = digest.SHA512.FromString("x") }, "is no sha256"},
		"another frame":      {func(o, _ *set) { o.Volumes[0].Frame = d }, "is not that of its entries"},
		"inner: encrypted":   {func(o, i *set) { i.Encryption = o.Encryption; i.Features = i.features() }, "in the open"},
		"inner: other set":   {func(_, i *set) { i.Parent = d }, "that of another set"},
		"inner: other base":  {func(_, i *set) { i.BuildsOn = []base{{2, d}} }, "that of another set"},
		"inner: a volume":    {func(_, i *set) { i.Volumes = i.Volumes[:1] }, "it has 1 volumes"},
		"inner: an entry":    {func(_, i *set) { i.Volumes[0].Entries = i.Volumes[0].Entries[:2] }, "2 entries in"},
		"inner: offset":      {func(_, i *set) { i.Volumes[0].Entries[1].Offset += blockSize }, "are not in e/000001"},
		"inner: size":        {func(_, i *set) { i.Volumes[0].Entries[1].Size = 1 << 40 }, "are not in e/000001"},
		"inner: less":        {func(_, i *set) { i.Volumes[0].Entries[1].Size = -1 }, "are not in e/000001"},
		"inner: label":       {func(_, i *set) { i.Volumes[0].Entries[0].Digest = d }, "another label"},
		"inner: hostile":     {func(_, i *set) { i.Volumes[0].Entries[1].Path = "../../etc/passwd" }, "is none that an archive has"},
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
				if err != nil {
					t.Fatal(err)
				}
				_, err = parseInner(raw, outer)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("it is %v, want %q", err, tc.want)
			}
		})
	}
}

// FuzzParseInner: what is taken of an inner set manifest is in the files that the
// outer one has, and is written as it was read.
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
				if e.Sealed == nil || e.Size > e.Sealed.Size || e.Offset != e.Sealed.Offset {
					t.Errorf("%s is in %+v", e.path(), e.Sealed)
				}
			}
		}
		text := encoded(t, s)
		again, err := parseInner(text, outer)
		if err != nil {
			t.Fatalf("what was taken is not taken again: %v", err)
		}
		if !bytes.Equal(text, encoded(t, again)) {
			t.Error("it is written otherwise the second time")
		}
	})
}

// Somebody who can write to the medium, and knows the public half of the key, can put
// other content there: its digest gives it away, whatever it decrypts to.
func TestEncryptedSubstitution(t *testing.T) {
	t.Parallel()
	s, dir, ann := newSample(1, 5000), t.TempDir(), person(t)
	s.write(t, dir, Options{Encrypt: to(ann)})
	a := openAs(t, dir, ann)
	layer := s.Entries[1]
	e := places(a.blobs, layer.Digest)[0].entry
	recipient, err := parseRecipient(a.newest().outer.Encryption.Recipient)
	if err != nil {
		t.Fatal(err)
	}
	how, err := newSealer(recipient, DefaultVolumeSize)
	if err != nil {
		t.Fatal(err)
	}
	forged, err := sealTo(make([]byte, how.filled(e.Sealed.Size)), recipient)
	if err != nil || int64(len(forged)) != e.Sealed.Size {
		t.Fatalf("%d bytes for %d, %v", len(forged), e.Sealed.Size, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, volumeName(1, 1)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(forged, e.Offset)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	var damage *DamageError
	if _, err := a.content(context.Background(), places(a.blobs, layer.Digest), 1<<20); !errors.As(err, &damage) || !strings.Contains(err.Error(), "its digest is") {
		t.Errorf("it is read: %v", err)
	}
	if err := openAs(t, dir).Verify(t.Context(), nil); !errors.As(err, &damage) {
		t.Errorf("Verify = %v", err)
	}
}
