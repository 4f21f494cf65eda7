package state

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/resources"
)

// suffixFile has the suffix of each mirror.
const suffixFile = "suffixes.json"

// Suffix returns the suffix that the names of a mirror's objects have, and whether it is known: it was
// saved, or a version without suffixes wrote the objects. The mirror has the same name as for Records.
func (w *Workspace) Suffix(mirror string) (suffix string, known bool, err error) {
	all, err := w.suffixes()
	if err != nil {
		return "", false, err
	}
	if suffix, known = all[mirror]; known {
		return suffix, true, nil
	}
	at, err := w.resources(mirror)
	suffix, _ = resources.SuffixOf(resources.ObjectNames(w.readResources(at.files())))
	return suffix, at.hasResource, err
}

// OtherSuffixes returns the suffixes of other mirrors of the workspace.
func (w *Workspace) OtherSuffixes(mirror string) ([]string, error) {
	all, err := w.suffixes()
	if err != nil {
		return nil, err
	}
	delete(all, mirror)
	others := slices.Sorted(maps.Values(all))
	// The folder of the first mirror may be one of a version without suffixes.
	for _, dir := range []string{resourceDir, workingDir + "/" + resourceDir} {
		text, err := w.readState(dir + ".txt")
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s.txt: %w", dir, err)
		}
		lines := strings.Fields(string(text))
		if len(lines) == 0 || lines[0] == mirror {
			continue
		}
		if _, saved := all[lines[0]]; !saved {
			at := resourcePlace{dir: dir, listed: lines[1:]}
			suffix, _ := resources.SuffixOf(resources.ObjectNames(w.readResources(at.files())))
			others = append(others, suffix)
		}
	}
	return others, nil
}

// SaveSuffix saves the suffix of a mirror.
func (w *Workspace) SaveSuffix(mirror, suffix string) error {
	all, err := w.suffixes()
	if err != nil {
		return err
	}
	all[mirror] = suffix
	return w.saveJSON(suffixFile, all)
}

func (w *Workspace) suffixes() (map[string]string, error) {
	return readMap[string](w, suffixFile, "remove it; the objects of mirrors then have the names that their manifests have")
}

// SuffixIn returns the suffix of a mirror in the workspace in dir, which it does not lock. known is false
// if that workspace has no objects of the mirror, or cannot be read.
func SuffixIn(dir, mirror string) (suffix string, known bool) {
	err := readUnlocked(dir, func(w *Workspace) (err error) {
		suffix, known, err = w.Suffix(mirror)
		return err
	})
	return suffix, known && err == nil
}
