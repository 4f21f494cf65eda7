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
	"strconv"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// fromHeaders makes the set manifest of a set whose volumes have no copy of it from the headers in
// them. They have the digests of content; the digests of other files and parts are computed. Of the first
// set of a folder, this gives the set manifest that was written, byte for byte. volumes are sorted by
// their number.
func (a *Archive) fromHeaders(id setID, volumes []labelled) (manifestCopy, error) {
	first := volumes[0].label
	if first.Key != "" {
		return manifestCopy{}, &notFoundError{
			fmt.Sprintf("the archive in %s is encrypted, and its key is only in %s, which is missing", a.dirNames(), id.manifest()),
			"bring " + id.manifest() + " and what belongs to it"}
	}
	s := &set{Format: first.Format, Name: first.Name, Sequence: id.sequence, Plan: first.Plan, VolumeSize: first.VolumeSize}
	s.FirstVolume = firstVolumeOf(volumes)
	var missing []Damage
	for number := 1; number <= first.Volumes; number++ {
		i := slices.IndexFunc(volumes, func(v labelled) bool { return v.label.Volume == number })
		if i < 0 {
			missing = append(missing, Damage{
				File: s.volumeName(number), Problem: problemMissing, Searched: a.dirs,
				Volume: fmt.Sprintf("sequence %d, volume %d of %d", id.sequence, number, first.Volumes),
			})
			continue
		}
		v := &volumes[i]
		entries, err := readHeaders(a.folders[v.dir], v.name, a.entryLimit)
		if err != nil {
			return manifestCopy{}, &DamageError{Dir: a.dirs[v.dir], Damage: []Damage{{File: v.name, Problem: problemOf(err)}}}
		}
		s.Volumes = append(s.Volumes, volume{Name: s.volumeName(number), Size: v.size, Entries: entries, Frame: frame(entries)})
	}
	if len(missing) > 0 {
		return manifestCopy{}, &DamageError{Dir: a.dirNames(), Damage: missing}
	}
	return a.completeHeaders(s, id, volumes[0].dir)
}

// completeHeaders fills in what follows from all headers together, and checks the result like any set
// manifest.
func (a *Archive) completeHeaders(s *set, id setID, dir int) (manifestCopy, error) {
	s.joinParts()
	has := func(path string) bool {
		return slices.ContainsFunc(s.Volumes[0].Entries, func(e entry) bool { return e.Path == path })
	}
	switch {
	case id.repair:
		return manifestCopy{}, fmt.Errorf("%s, which says what it repairs, is missing", id.manifest())
	case has(deltasPath):
		return manifestCopy{}, &notFoundError{
			fmt.Sprintf("the archive in %s carries deltas, and which ones is only in %s, which is missing", a.dirNames(), id.manifest()), "bring " + id.manifest() + " too"}
	case !has(planPath) || !has(indexPath):
		return manifestCopy{}, &notFoundError{
			fmt.Sprintf("the archive in %s builds on earlier ones, and which ones is only in %s, which is missing", a.dirNames(), id.manifest()), "bring " + id.manifest() + " too"}
	}
	s.Features = s.features()
	var text bytes.Buffer
	if err := s.write(&text); err != nil {
		return manifestCopy{}, err
	}
	checked, err := parse(bytes.NewReader(text.Bytes()), false, nil)
	if err != nil {
		return manifestCopy{}, advice.New(advice.Mismatch, "bring "+id.manifest()+" too, or copy the volumes again",
			"the headers of the volumes in %s do not make an archive: %w", a.dirNames(), err)
	}
	r := &recovery{kind: RecoveredHeaders, text: text.Bytes()}
	return manifestCopy{dir: dir, set: checked, digest: digest.FromBytes(r.text), recovery: r}, nil
}

// firstVolumeOf returns the number of the first volume if all volumes have the names that oc mirror
// gives, or 0.
func firstVolumeOf(volumes []labelled) int {
	first := 0
	for i := range volumes {
		v := &volumes[i]
		m := volumeFile().FindStringSubmatch(v.name)
		if m == nil {
			return 0
		}
		number, err := strconv.Atoi(m[1])
		if number -= v.label.Volume - 1; err != nil || number < 1 || i > 0 && number != first {
			return 0
		}
		first = number
	}
	return first
}

// readHeaders returns the entries of a volume. It reads the headers, manifests, parts and files that are
// not content.
func readHeaders(root *os.Root, name string, limit int) ([]entry, error) {
	f, info, err := regular.Open(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	var entries []entry
	var problem error
	manifests := true // they precede the blobs
	err = eachFile(f, info.Size(), limit, func(t tarFile) bool {
		var e entry
		if e, problem = entryOf(f, t, manifests); problem != nil {
			return false
		}
		manifests = manifests && (e.Path != "" || e.MediaType != "")
		entries = append(entries, e)
		return true
	})
	err = cmp.Or(err, problem)
	end := int64(0)
	if n := len(entries); n > 0 {
		end = entries[n-1].Offset + padded(entries[n-1].Size)
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), err == nil && info.Size() < end+trailerSize:
		return nil, fmt.Errorf("it is cut off after %d bytes", info.Size())
	case err != nil:
		return nil, err
	case len(entries) == 0:
		return nil, errors.New("it is empty")
	}
	return entries, nil
}

// contentPath matches the paths of content.
var contentPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^blobs/(sha256|sha512)/([0-9a-f]{64,128})(?:\.part([0-9]{4}))?$`)
})

// entryOf returns the entry for a file of a volume.
func entryOf(f io.ReaderAt, t tarFile, manifests bool) (entry, error) {
	e := entry{Offset: t.offset, Size: t.size}
	m := contentPath().FindStringSubmatch(t.path)
	if len(m) > 3 {
		e.Digest = digest.NewDigestFromEncoded(digest.Algorithm(m[1]), m[2])
		if m[3] == "" && (!manifests || t.size > manifest.MaxSize) {
			return e, nil
		}
	}
	body := io.NewSectionReader(f, t.offset, t.size)
	switch {
	case m == nil:
		if t.size > maxPlan {
			return e, fmt.Errorf("%.100q has %d bytes, more than the %d that are allowed", t.path, t.size, maxPlan)
		}
		var err error
		e.Path = t.path
		e.Digest, err = digest.SHA256.FromReader(body)
		return e, err
	case m[3] != "":
		sum, err := digest.SHA256.FromReader(body)
		number, _ := strconv.Atoi(m[3]) // four digits
		e.Part = &part{Number: number, Digest: sum}
		return e, err
	}
	raw, err := io.ReadAll(body)
	if kind := manifest.TypeOf(raw); manifest.Is(kind) || manifest.IsSchema1(kind) {
		e.MediaType = kind
	}
	return e, err
}

// joinParts fills in what a part of content has of the whole.
func (s *set) joinParts() {
	sizes, parts := map[digest.Digest]int64{}, map[digest.Digest]int{}
	for e := range s.inParts() {
		e.Part.At = sizes[e.Digest]
		sizes[e.Digest] += e.Size
		parts[e.Digest]++
	}
	for e := range s.inParts() {
		e.Part.Size, e.Part.Parts = sizes[e.Digest], parts[e.Digest]
	}
}
