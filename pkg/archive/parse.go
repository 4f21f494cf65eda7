package archive

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// maxSet limits a set manifest, in bytes. That is enough for some million entries.
const maxSet = 128 << 20

// maxVolume limits a volume, in bytes, so that sums of offsets cannot overflow.
const maxVolume = 1 << 62

// readUnfinished reads the manifest of a set whose parts may not be written yet and have no digests.
func readUnfinished(folder *os.Root, id setID) (*set, error) {
	f, info, err := regular.Open(folder, id.manifest())
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	if info.Size() > maxSet {
		return nil, fmt.Errorf("%s has more than the %d bytes that are allowed", id.manifest(), maxSet)
	}
	return parse(io.NewSectionReader(f, 0, info.Size()), true, nil)
}

// parseInner reads the inner set manifest of an encrypted set. Its files are those of the outer
// one.
func parseInner(raw []byte, outer *set) (*set, error) {
	s, err := parse(bytes.NewReader(raw), true, outer)
	if err == nil {
		err = s.checkInner(outer)
	}
	return s, err
}

// parse reads an untrusted set manifest. What it returns is consistent: names and paths are valid,
// entries are located in their volume as this package lays them out, so that the frame has no
// headers but theirs, parts are complete, and all required entries exist. It reads the text from
// its beginning three times, and returns what the last pass read.
func parse(text io.ReadSeeker, unfinished bool, outer *set) (*set, error) {
	if _, err := text.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	objects, err := checkDensity(text)
	if err != nil {
		return nil, err
	}
	if _, err := text.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	// An archive of another version may have other fields of other types.
	var version struct {
		Format   *int     `json:"format"`
		Features []string `json:"features"`
	}
	if err := json.UnmarshalRead(text, &version); err != nil {
		return nil, err
	}
	switch {
	case version.Format == nil:
		return nil, fmt.Errorf("it has no format")
	case *version.Format > format:
		return nil, versionError(fmt.Sprintf("it is of format %d, this Gantry reads format %d: read it with a later Gantry", *version.Format, format))
	case *version.Format < format:
		return nil, versionError(fmt.Sprintf("it is of format %d, this Gantry reads format %d: read it with the Gantry that wrote it, or write it again", *version.Format, format))
	}
	if unknown := slices.DeleteFunc(slices.Clone(version.Features), func(f string) bool { return slices.Contains(knownFeatures, f) }); len(unknown) > 0 {
		return nil, versionError(fmt.Sprintf("it uses %s, which this Gantry does not know: read it with a Gantry of the version that wrote it, or a later one", quoted(unknown)))
	}
	if _, err := text.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	s := &set{}
	if err := json.UnmarshalRead(text, s, entriesIn(make([]entry, 0, objects))); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if outer != nil && (s.Encryption != nil || len(s.Volumes) != len(outer.Volumes)) {
		return nil, fmt.Errorf("it has %d volumes, not the %d that are encrypted", len(s.Volumes), len(outer.Volumes))
	}
	c := checker{set: s, unfinished: unfinished, outer: outer, seen: map[string]bool{}, types: map[string]string{}, parts: map[digest.Digest]*entry{}}
	for i := range s.Volumes {
		if err := c.volume(i); err != nil {
			return nil, fmt.Errorf("volumes[%d]: %w", i, err)
		}
	}
	return s, c.complete()
}

// A versionError means that a set is of another version of Gantry, and not that it is damaged.
type versionError string

func (e versionError) Error() string { return string(e) }

// entriesIn reads the entries of all volumes into one slice, which grows only if it is too small.
func entriesIn(all []entry) json.Options {
	return json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, entries *[]entry) error {
		if dec.PeekKind() != '[' {
			return errors.ErrUnsupported // leave the error message to json
		}
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
		first := len(all)
		for k := dec.PeekKind(); k != ']' && k != 0; k = dec.PeekKind() {
			all = append(all, entry{})
			if err := json.UnmarshalDecode(dec, &all[len(all)-1]); err != nil {
				return err
			}
		}
		*entries = all[first:len(all):len(all)]
		_, err := dec.ReadToken()
		return err
	}))
}

// A checker checks the volumes of a set.
type checker struct {
	set        *set
	unfinished bool
	outer      *set            // with the encrypted files that contain the entries; nil if the set is not encrypted
	files      int             // encrypted ones, so far
	seen       map[string]bool // by path, or by digest if the path follows from it
	// types has one copy of each media type.
	types map[string]string
	// parts is the last part of each content so far.
	parts map[digest.Digest]*entry
}

func (c *checker) volume(i int) error {
	v := &c.set.Volumes[i]
	if want := c.set.volumeName(i + 1); v.Name != want {
		return fmt.Errorf("name %q is not %s", v.Name, want)
	}
	if v.Size < trailerSize || v.Size > maxVolume || v.Size%blockSize != 0 {
		return fmt.Errorf("size %d", v.Size)
	}
	if v.Entries == nil {
		return fmt.Errorf("no entries")
	}
	if c.outer != nil {
		return c.innerVolume(i)
	}
	var end int64
	for j := range v.Entries {
		e := &v.Entries[j]
		if err := c.entry(e, i, j); err != nil {
			return fmt.Errorf("entries[%d]: %w", j, err)
		}
		// Each value is checked before it is added, so that sums cannot overflow.
		if e.Offset != end+tarHeaderSize(e.path()) || e.Offset > v.Size-trailerSize {
			return fmt.Errorf("entries[%d]: offset %d is wrong", j, e.Offset)
		}
		if e.Size < 0 || e.Size > v.Size-trailerSize-e.Offset {
			return fmt.Errorf("entries[%d]: size %d goes beyond the volume", j, e.Size)
		}
		end = e.Offset + padded(e.Size) // the volume's size is a multiple too
	}
	if v.Size != end+trailerSize {
		return fmt.Errorf("size %d does not match its entries, which give %d", v.Size, end+trailerSize)
	}
	if want := frame(v.Entries); v.Frame != want {
		return fmt.Errorf("frame %q does not match its entries, which give %s", v.Frame, want)
	}
	return nil
}

// The expressions have no limits for lengths, because compiling those takes longer than reading an archive.
var (
	extraPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^gantry/[a-z0-9][a-z0-9_-]*(\.[a-z0-9_-]+)*$`) })
	mediaType = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*$`)
	})
)

// isExtraPath reports whether a later writer may add that path for information: up to four words of up to 64 characters.
func isExtraPath(s string) bool {
	words := strings.Split(strings.TrimPrefix(s, "gantry/"), ".")
	return len(words) <= 4 && !slices.ContainsFunc(words, func(w string) bool { return len(w) > 64 }) && extraPath().MatchString(s)
}

// isMediaType follows the grammar of RFC 6838.
func isMediaType(s string) bool {
	kind, subtype, _ := strings.Cut(s, "/")
	return len(kind) <= 127 && len(subtype) <= 127 && mediaType().MatchString(s)
}

func (c *checker) entry(e *entry, i, j int) error {
	if c.set.Encryption != nil && j > 0 {
		return c.encryptedEntry(e)
	}
	if err := layout.CheckDigest(e.Digest); err != nil {
		return err
	}
	if _, known := c.types[e.MediaType]; e.MediaType != "" && (e.Path != "" || !known && !isMediaType(e.MediaType)) {
		return fmt.Errorf("mediaType %q", e.MediaType)
	}
	name := c.set.id().label(i + 1)
	switch {
	case (j == 0) != (e.Path == name):
		return fmt.Errorf("%s has to be the first entry and only that", name)
	case e.Path == "", e.Path == name:
	case e.Path == markerPath, e.Path == indexPath, e.Path == planPath, e.Path == sumsPath:
		if i > 0 {
			return fmt.Errorf("path %q does not belong in this volume", e.Path)
		}
	case !isExtraPath(e.Path):
		return fmt.Errorf("path %q does not belong in an archive", e.Path)
	}
	if e.Part != nil {
		return c.part(e)
	}
	key := cmp.Or(e.Path, string(e.Digest)) // without a path, it follows from the digest
	if c.seen[key] {
		return fmt.Errorf("%s is there twice", e.path())
	}
	c.seen[key] = true
	c.share(e)
	return nil
}

// share keeps one copy of each media type: many manifests have one of a few.
func (c *checker) share(e *entry) {
	if have, ok := c.types[e.MediaType]; ok {
		e.MediaType = have
	} else {
		c.types[e.MediaType] = e.MediaType
	}
}

// part checks a part of content against the previous one.
func (c *checker) part(e *entry) error {
	p := e.Part
	if e.Path != "" {
		return fmt.Errorf("path %q is not in parts", e.Path)
	}
	if p.Parts < 2 || p.Parts > maxVolumes || p.Number < 1 || p.Number > p.Parts {
		return fmt.Errorf("part %d of %d", p.Number, p.Parts)
	}
	if !c.unfinished || p.Digest != "" {
		if err := layout.CheckDigest(p.Digest); err != nil || p.Digest.Algorithm() != digest.SHA256 {
			return fmt.Errorf("the digest %.100q of part %d is not a sha256", p.Digest, p.Number)
		}
	}
	before := c.parts[e.Digest]
	c.parts[e.Digest] = e
	if before == nil {
		if c.seen[string(e.Digest)] {
			return fmt.Errorf("%s is there twice", e.Digest)
		}
		c.seen[string(e.Digest)] = true
		before = &entry{MediaType: e.MediaType, Part: &part{Parts: p.Parts, Size: p.Size}}
	}
	b := before.Part
	switch {
	case p.Number != b.Number+1 || p.Parts != b.Parts || p.Size != b.Size || e.MediaType != before.MediaType:
		return fmt.Errorf("part %d of %d of %s does not follow part %d of %d", p.Number, p.Parts, e.Digest, b.Number, b.Parts)
	case p.At != b.At+before.Size:
		return fmt.Errorf("part %d of %s begins at %d, the one before ends at %d", p.Number, e.Digest, p.At, b.At+before.Size)
	case e.Size < 1 || p.At < 0 || e.Size > p.Size-p.At || (p.Number == p.Parts) != (e.Size == p.Size-p.At):
		return fmt.Errorf("part %d of %d of %s has %d bytes from %d on, of %d", p.Number, p.Parts, e.Digest, e.Size, p.At, p.Size)
	}
	c.share(e)
	return nil
}

// complete checks for missing entries after all volumes.
func (c *checker) complete() error {
	for d, e := range c.parts {
		if e.Part.Number != e.Part.Parts {
			return fmt.Errorf("%s ends with part %d of %d", d, e.Part.Number, e.Part.Parts)
		}
	}
	var needed []string
	switch {
	case c.set.Repairs != nil, c.set.Encryption != nil:
	case len(c.set.BuildsOn) > 0: // where the others may be
		needed = []string{markerPath}
	default:
		needed = []string{markerPath, indexPath, planPath}
	}
	for _, path := range needed {
		if !c.seen[path] {
			return fmt.Errorf("it has no entry %s", path)
		}
	}
	for _, h := range c.set.Omitted {
		if c.seen[string(h.Digest)] {
			return fmt.Errorf("%s is in elsewhere and in a volume", h.Digest)
		}
	}
	return c.deltas()
}

func quoted(names []string) string {
	q := elements.Map(names[:min(len(names), 5)], func(n string) string { return fmt.Sprintf("%q", n[:min(len(n), 40)]) })
	return strings.Join(q, ", ")
}
