package archive

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// A labelled is a file that begins with the label of a volume, whatever its name. It may be altered or
// cut off.
type labelled struct {
	dir   int // the folder, by its number
	name  string
	size  int64
	label label
}

func (v *labelled) id() setID { return setID{v.label.Sequence, v.label.Repair} }

// findLabelled returns the files of a folder that begin with the label of a volume, by name. It opens
// every regular file, up to maxRenamed.
func findLabelled(root *os.Root, dir int) []labelled {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil // list has returned the error
	}
	var found []labelled
	for _, e := range entries[:min(len(entries), maxRenamed)] {
		if !e.Type().IsRegular() {
			continue
		}
		f, info, err := regular.Open(root, e.Name())
		if err != nil {
			continue
		}
		if l, ok := volumeLabel(f); ok {
			found = append(found, labelled{dir, e.Name(), info.Size(), l})
		}
		_ = f.Close() // only read from
	}
	return found
}

// volumeLabel returns the label of a file that begins like a volume: with the header of a label and the
// label that this header names.
func volumeLabel(f io.ReaderAt) (label, bool) {
	head := make([]byte, blockSize)
	if _, err := f.ReadAt(head, 0); err != nil || !bytes.HasPrefix(head, []byte("gantry/")) {
		return label{}, false
	}
	l, ok := readLabel(f)
	if !ok {
		return label{}, false
	}
	name, _, _ := bytes.Cut(head[:100], []byte{0})
	return l, string(name) == setID{l.Sequence, l.Repair}.label(l.Volume)
}

// listWithVolumes is list, with the volumes that were found by their labels. Those of a folder that a
// run writes to, or was writing to, are not an archive yet.
func listWithVolumes(root *os.Root, dir int) (*listing, error) {
	l, err := list(root)
	if err == nil && !l.partial {
		l.labelled = findLabelled(root, dir)
		if l.foreign != "" && len(l.labelled) == 0 {
			l.foreignIs = describeForeign(root, l.foreign)
		}
	}
	return l, err
}

// unlisted returns the sequences of volumes whose set manifest none of the folders has, ascending. With
// a series, those of another one do not count: they are in the way of no archive.
func unlisted(lists []*listing, series *string) []int {
	var all []int
	for _, l := range lists {
		for i := range l.labelled {
			v := &l.labelled[i]
			has := func(l *listing) bool { return slices.Contains(l.sets, v.label.Sequence) }
			other := series != nil && v.label.Key == "" && v.label.Name != *series
			if !v.label.Repair && !other && !slices.ContainsFunc(lists, has) {
				all = append(all, v.label.Sequence)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// seriesOf returns the series of a set, if a folder has its set manifest and that can be told.
func (a *Archive) seriesOf(lists []*listing, sequence int) *string {
	for i, root := range a.folders {
		if slices.Contains(lists[i].sets, sequence) {
			if name, ok := readSeriesName(root, setName(sequence)); ok {
				return &name
			}
		}
	}
	return nil
}

// readSeriesName returns the name in a set manifest, which comes before what grows with the
// content. ok is false if it cannot be read.
func readSeriesName(root *os.Root, manifest string) (name string, ok bool) {
	f, _, err := regular.Open(root, manifest)
	if err != nil {
		return "", false
	}
	defer f.Close() // only read from
	dec := json.NewDecoder(io.LimitReader(f, 64<<10))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return "", false
	}
	for dec.More() {
		field, err := dec.Token()
		if err != nil || field == "volumes" {
			break
		}
		switch field {
		case "name":
			err := dec.Decode(&name)
			return name, err == nil
		case "features":
			var features []string
			if dec.Decode(&features) != nil || slices.Contains(features, featureEncrypted) {
				return "", false // its name is not known
			}
			continue
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			break
		}
	}
	return "", false
}
