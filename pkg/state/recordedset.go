package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// recordedFile says which records the mirrors themselves have.
const recordedFile = "recorded.json"

// maxRecordedFile is how many bytes of it ReadRecordedSets reads.
const maxRecordedFile = 64 << 20

// A RecordedSet says that the mirror itself has a record of an image set, and which one the workspace has
// a copy of.
type RecordedSet struct {
	// Revision is the revision of the record, as package setrecord describes it. Its key is turn, since earlier
	// versions read no other.
	Revision json.RawMessage `json:"turn"`
	// Elsewhere reports whether another workspace wrote it.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// RecordedSets returns the image sets that a mirror itself had records of when it was last asked.
func (w *Workspace) RecordedSets(mirror string) (map[string]RecordedSet, error) {
	all, err := w.recordedSets()
	if err != nil {
		return nil, err
	}
	if all[mirror] == nil {
		return map[string]RecordedSet{}, nil
	}
	return all[mirror], nil
}

// ReadRecordedSets is RecordedSets without locking the workspace in dir.
func ReadRecordedSets(dir, mirror string) (sets map[string]RecordedSet, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening workspace %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	all := map[string]map[string]RecordedSet{}
	text, err := regular.Read(root, recordedFile, maxRecordedFile)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading %s: %w", filepath.Join(dir, recordedFile), err)
	}
	return all[mirror], nil
}

// SaveRecordedSets saves which image sets a mirror itself has records of.
func (w *Workspace) SaveRecordedSets(mirror string, sets map[string]RecordedSet) error {
	all, err := w.recordedSets()
	if err != nil {
		return err
	}
	if all[mirror] = sets; len(sets) == 0 {
		delete(all, mirror)
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", recordedFile, err)
	}
	return w.keepText(recordedFile, append(text, '\n'))
}

func (w *Workspace) recordedSets() (map[string]map[string]RecordedSet, error) {
	all := map[string]map[string]RecordedSet{}
	text, err := w.readState(recordedFile)
	if errors.Is(err, os.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, advice.Wrap(advice.Failure, fmt.Errorf("reading %s: %w", filepath.Join(w.dir, recordedFile), err),
			hintFor(err, "remove it; the next run reads the records from the mirror again"))
	}
	return all, nil
}

// RemoveRecord removes the record of a mirror and an image set.
func (w *Workspace) RemoveRecord(mirror, name string) error {
	return w.keep(recordFile(mirror), func(out io.Writer) error {
		return w.writeRecords(out, mirror, name, nil)
	})
}

// RecordNames returns the image sets that the workspace has records of for a mirror.
func (w *Workspace) RecordNames(mirror string) (names []string, err error) {
	err = w.eachRecord(mirror, func(name string, dec *json.Decoder) error {
		var unused json.RawMessage
		names = append(names, name)
		return dec.Decode(&unused)
	})
	return names, err
}
