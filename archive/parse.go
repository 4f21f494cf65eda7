package archive

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/layout"
)

// maxSet bounds a set manifest, in bytes: some million entries.
const maxSet = 128 << 20

// parseSet reads a set manifest that may come from anybody. What it returns is
// consistent in itself: names and paths are of the grammar, entries lie in their
// volume, in order and apart, and what has to be there is.
func parseSet(raw []byte) (*set, error) {
	// An archive of another version may have other fields of other types.
	var version struct {
		Format   *int     `json:"format"`
		Features []string `json:"features"`
	}
	if err := json.Unmarshal(raw, &version); err != nil {
		return nil, err
	}
	switch {
	case version.Format == nil:
		return nil, fmt.Errorf("it has no format")
	case *version.Format != format:
		return nil, fmt.Errorf("it is of format %d, this Gantry reads format %d: read it with a Gantry of the version that wrote it, or a later one", *version.Format, format)
	}
	known := []string{featureBuildsOn, featureRepair, featureSplit}
	if unknown := slices.DeleteFunc(slices.Clone(version.Features), func(f string) bool { return slices.Contains(known, f) }); len(unknown) > 0 {
		return nil, fmt.Errorf("it uses %s, which this Gantry does not know: read it with a Gantry of the version that wrote it, or a later one", quoted(unknown))
	}
	s := &set{}
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, err
	}
	used := s.features()
	if !slices.Equal(s.Features, used) {
		return nil, fmt.Errorf("its features are [%s], but what it has are [%s]", quoted(s.Features), quoted(used))
	}
	s.Features = used // an empty list, where it had none at all
	if s.Sequence < 1 || s.Sequence > maxSequence {
		return nil, fmt.Errorf("sequence %d is not from 1 to %d", s.Sequence, maxSequence)
	}
	if s.Parent != "" {
		if err := layout.CheckDigest(s.Parent); err != nil {
			return nil, fmt.Errorf("parent: %w", err)
		}
	}
	if s.VolumeSize < 0 {
		return nil, fmt.Errorf("volumeSize %d", s.VolumeSize)
	}
	if n := len(s.Volumes); n < 1 || n > maxVolumes {
		return nil, fmt.Errorf("it has %d volumes, not from 1 to %d", n, maxVolumes)
	}
	c := checker{set: s, seen: map[string]bool{}, types: map[string]string{}}
	for i := range s.Volumes {
		if err := c.volume(i); err != nil {
			return nil, fmt.Errorf("volumes[%d]: %w", i, err)
		}
	}
	for _, path := range []string{markerPath, indexPath, planPath} {
		if !c.seen[path] {
			return nil, fmt.Errorf("it has no entry %s", path)
		}
	}
	return s, nil
}

// A checker goes through the volumes of a set.
type checker struct {
	set  *set
	seen map[string]bool // by path, or digest where the path follows from that
	// types is one copy of each media type.
	types map[string]string
}

func (c *checker) volume(i int) error {
	v := &c.set.Volumes[i]
	if want := volumeName(c.set.Sequence, i+1); v.Name != want {
		return fmt.Errorf("name %q is not %s", v.Name, want)
	}
	if v.Size < trailerSize || v.Size%blockSize != 0 {
		return fmt.Errorf("size %d", v.Size)
	}
	if err := layout.CheckDigest(v.Frame); err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	if v.Frame.Algorithm() != digest.SHA256 {
		return fmt.Errorf("frame %s is no sha256", v.Frame)
	}
	if v.Entries == nil {
		return fmt.Errorf("no entries")
	}
	var end int64
	for j := range v.Entries {
		e := &v.Entries[j]
		if err := c.entry(e, i, j); err != nil {
			return fmt.Errorf("entries[%d]: %w", j, err)
		}
		// No sum is formed before it is known to fit.
		if e.Offset < end+blockSize || e.Offset > v.Size-trailerSize || e.Offset%blockSize != 0 {
			return fmt.Errorf("entries[%d]: offset %d is out of place", j, e.Offset)
		}
		if e.Size < 0 || e.Size > v.Size-trailerSize-e.Offset {
			return fmt.Errorf("entries[%d]: size %d goes beyond the volume", j, e.Size)
		}
		end = e.Offset + padded(e.Size) // the volume's size is a multiple too
	}
	return nil
}

// extraPath is what a later writer may add for information.
var extraPath = regexp.MustCompile(`^gantry/[a-z0-9][a-z0-9_-]{0,63}(\.[a-z0-9_-]{1,64}){0,3}$`)

// mediaType is as RFC 6838 has it.
var mediaType = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}$`)

func (c *checker) entry(e *entry, i, j int) error {
	if err := layout.CheckDigest(e.Digest); err != nil {
		return err
	}
	if e.MediaType != "" && (e.Path != "" || !mediaType.MatchString(e.MediaType)) {
		return fmt.Errorf("mediaType %q", e.MediaType)
	}
	name := labelPath(c.set.Sequence, i+1)
	switch {
	case (j == 0) != (e.Path == name):
		return fmt.Errorf("%s has to be the first entry and only that", name)
	case e.Path == "", e.Path == name:
	case e.Path == planPath && e.Digest != c.set.Plan:
		return fmt.Errorf("%s has the digest %s, the plan is %s", planPath, e.Digest, c.set.Plan)
	case e.Path == markerPath, e.Path == indexPath, e.Path == planPath:
		if i > 0 {
			return fmt.Errorf("path %q is none that this volume has", e.Path)
		}
	case !extraPath.MatchString(e.Path):
		return fmt.Errorf("path %q is none that an archive has", e.Path)
	}
	key := e.Path
	if key == "" {
		key = string(e.Digest) // its path follows from that
	}
	if c.seen[key] {
		return fmt.Errorf("%s is there twice", e.path())
	}
	c.seen[key] = true
	// Many manifests have one of a few types: one text is held of each.
	if have, ok := c.types[e.MediaType]; ok {
		e.MediaType = have
	} else {
		c.types[e.MediaType] = e.MediaType
	}
	return nil
}

func quoted(names []string) string {
	var q []string
	for _, n := range names[:min(len(names), 5)] {
		q = append(q, fmt.Sprintf("%q", n[:min(len(n), 40)]))
	}
	return strings.Join(q, ", ")
}
