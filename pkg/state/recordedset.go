package state

import (
	"encoding/json"
	"maps"
	"slices"
)

// recordedFile says which records the mirrors themselves have.
const recordedFile = "recorded.json"

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
func ReadRecordedSets(dir, mirror string) (map[string]RecordedSet, error) {
	return readIfExists(dir, func(w *Workspace) (map[string]RecordedSet, error) { return w.RecordedSets(mirror) })
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
	return w.saveJSON(recordedFile, all)
}

func (w *Workspace) recordedSets() (map[string]map[string]RecordedSet, error) {
	return readMap[map[string]RecordedSet](w, recordedFile, "remove it; the next run reads the records from the mirror again")
}

// RemoveRecord removes the record of a mirror and an image set.
func (w *Workspace) RemoveRecord(mirror, name string) error { return w.SaveRecord(mirror, name, nil) }

// RecordNames returns the image sets that the workspace has records of for a mirror, sorted.
func (w *Workspace) RecordNames(mirror string) ([]string, error) {
	all, err := w.Records(mirror)
	return slices.Sorted(maps.Keys(all)), err
}
