package airgap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// A history is what is known of the archives of a series: from the history in the workspace, and
// from the folder that the next one is written to.
type history struct {
	ws   *state.Workspace
	name string // of the plan, and so of the series
	dir  string // the folder

	after   int              // the highest sequence written elsewhere
	exports []state.Export   // complete ones, by sequence
	series  string           // of the newest archive in the folder, or ""
	newest  *archive.SetInfo // the newest archive in the folder, if it is of this plan
	intact  bool             // whether newest was found with all its volumes
	carried []string         // the volumes of newest that are elsewhere, if nothing else is wrong with it
	// unidentified reports whether the newest archive in the folder is encrypted and not in the
	// history of this workspace.
	unidentified bool
	signing      *SigningPolicy // nil if nothing is signed
	base         *base          // nil if the next archive leaves out nothing
	baseChosen   bool           // the base was selected, whatever the folder has
	remark       string         // why all content is written, or which volumes are elsewhere, for people
}

// loadHistory reads the history of a series and chooses what its next archive builds on.
func loadHistory(ctx context.Context, ws *state.Workspace, name, dir string, since Since, signing *SigningPolicy) (*history, error) {
	l := &history{ws: ws, name: name, dir: dir, signing: signing, baseChosen: since.isSet()}
	if err := l.load(); err != nil {
		return nil, err
	}
	if err := l.inspectFolder(); err != nil {
		return nil, err
	}
	if err := l.checkFolder(); err != nil {
		return nil, err
	}
	var err error
	switch {
	case since.Full:
	case len(since.Receipts) > 0:
		err = l.baseFromReceipts(since.Receipts, since.Policy)
	case since.isSet():
		err = l.chooseSince(since)
	default:
		err = l.chooseNewest(ctx)
	}
	return l, err
}

// load reads the history from the workspace. An archive whose run ended while finishing it is
// complete if it is found.
func (l *history) load() error {
	dir, err := filepath.Abs(l.dir)
	if err != nil {
		return err
	}
	all, err := l.ws.Exports(l.name)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.Set == "" {
			if info, ok := findExport(c); ok {
				c.Set, c.Found = info.Set, true
				if err := l.ws.SaveExport(l.name, c, nil); err != nil {
					return err
				}
			}
		}
		if c.Set != "" {
			l.exports = append(l.exports, c)
		}
		if c.Set != "" || c.Dir != dir { // archives in the folder itself are found there
			l.after = max(l.after, c.Sequence)
		}
	}
	return nil
}

// findExport looks for an archive in the folder that the history names.
func findExport(c state.Export) (archive.SetInfo, bool) {
	have, err := archive.InspectWith(archive.OpenOptions{Sequence: c.Sequence}, c.Dir)
	if err != nil {
		return archive.SetInfo{}, false
	}
	info := have.Selected()
	return info, have.Close() == nil && info.Plan == c.Plan
}

// inspectFolder finds the newest archive in the folder.
func (l *history) inspectFolder() error {
	have, err := archive.Inspect(l.dir)
	var damage *archive.DamageError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damage) {
		return nil // a damaged archive is followed by a new one
	}
	if err != nil {
		return err
	}
	info := have.Selected()
	_, statErr := os.Lstat(filepath.Join(l.dir, info.Manifest))
	if info.Recovered == archive.RecoveredHeaders || info.Recovered != "" && statErr == nil {
		return have.Close() // which set it is, is not known for certain, or its set manifest is damaged
	}
	l.identify(&info)
	l.intact = !slices.ContainsFunc(info.Volumes, func(v archive.VolumeInfo) bool { return v.Problem != "" })
	l.carried = carriedVolumes(&info)
	if l.series = info.Series; l.series == l.name && !l.unidentified {
		l.newest = &info
	}
	return have.Close()
}

// carriedVolumes returns the volumes of an archive that are missing, if no other volume is damaged: they
// were carried away, or moved to another disk.
func carriedVolumes(info *archive.SetInfo) (names []string) {
	for _, v := range info.Volumes {
		switch {
		case v.Problem == "":
		case v.Missing():
			names = append(names, v.Name)
		default:
			return nil
		}
	}
	return names
}

// carriedRemark names the volumes that are elsewhere.
func (l *history) carriedRemark() string {
	names := strings.Join(l.carried[:min(len(l.carried), 3)], ", ")
	if more := len(l.carried) - 3; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s of sequence %d in %s %s elsewhere, and this archive builds on sequence %d; Options.Full writes all content",
		names, l.newest.Sequence, l.dir, plural(len(l.carried), "is", "are"), l.newest.Sequence)
}

func plural(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// identify fills in from the history what an encrypted archive does not tell.
func (l *history) identify(info *archive.SetInfo) {
	if !info.NeedsIdentity {
		return
	}
	for _, c := range l.exports {
		if c.Set == info.Set {
			info.Series, info.Plan = l.name, c.Plan
		}
	}
	l.unidentified = info.Plan == ""
}

// checkFolder refuses a folder that has another archive under a sequence of the history.
func (l *history) checkFolder() error {
	if l.newest == nil {
		return nil
	}
	for _, c := range l.exports {
		if c.Sequence == l.newest.Sequence && c.Set != l.newest.Set {
			return advice.New(advice.Input, "write to another folder, or use the workspace that wrote the archive there",
				"%s in %s is not the archive that this workspace wrote of %q under that number", l.newest.Manifest, l.dir, l.name)
		}
	}
	return nil
}

// basesUpTo returns the archives with the content that is left out after a sequence.
func (l *history) basesUpTo(sequence int) BaseRange {
	w := BaseRange{Last: sequence}
	for _, c := range l.exports {
		if c.Full && c.Sequence <= sequence {
			w.First = c.Sequence
		}
	}
	return w
}

// known reports whether the history has an archive of a sequence.
func (l *history) known(sequence int) bool {
	return slices.ContainsFunc(l.exports, func(past state.Export) bool { return past.Sequence == sequence })
}
