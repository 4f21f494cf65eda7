package carry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/workspace"
)

// A lineage is what is known of the archives that were written of a plan before: by the
// history in the workspace, and by the folder that the next one goes to.
type lineage struct {
	ws   *workspace.Workspace
	name string // of the plan, and so of the series
	dir  string // the folder

	after  int                 // the highest sequence that was written elsewhere
	past   []workspace.Carried // those that are complete, by sequence
	series string              // that of the newest in the folder; "" where there is none
	folder *archive.SetInfo    // the newest in the folder, if it is of this plan
	sound  bool                // it is, as far as opening it tells
	// stranger says that the newest in the folder is encrypted, and this workspace
	// does not know it.
	stranger bool
	voucher  *Voucher // says what may be signed and built on; nil where nothing is signed
	base     *base    // what the next leaves out; nil is nothing
	chosen   bool     // the base is: what is in the folder already has no say
	remark   string   // why that is so, for people; "" where it goes without saying
}

// trace finds what is known of a series, and what the next archive of it builds on.
func trace(ctx context.Context, ws *workspace.Workspace, name, dir string, since Since, voucher *Voucher) (*lineage, error) {
	l := &lineage{ws: ws, name: name, dir: dir, voucher: voucher, chosen: since.chosen()}
	if err := l.recall(); err != nil {
		return nil, err
	}
	if err := l.lookInto(); err != nil {
		return nil, err
	}
	if err := l.agree(); err != nil {
		return nil, err
	}
	var err error
	switch {
	case since.Full:
	case since.Receipt != "":
		err = l.fromReceipt(since.Receipt, since.Policy)
	case since.chosen():
		err = l.since(since)
	default:
		err = l.newest(ctx)
	}
	return l, err
}

// recall reads the history. An archive that was being finished when its run ended is
// complete if it is there.
func (l *lineage) recall() error {
	dir, err := filepath.Abs(l.dir)
	if err != nil {
		return err
	}
	all, err := l.ws.Carried(l.name)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.Set == "" {
			if info, ok := written(c); ok {
				c.Set, c.Found = info.Set, true
				if err := l.ws.SaveCarried(l.name, c, nil); err != nil {
					return err
				}
			}
		}
		if c.Set != "" {
			l.past = append(l.past, c)
		}
		if c.Set != "" || c.Dir != dir { // the folder tells of its own
			l.after = max(l.after, c.Sequence)
		}
	}
	return nil
}

// written looks for an archive where it should be.
func written(c workspace.Carried) (archive.SetInfo, bool) {
	have, err := archive.InspectWith(archive.OpenOptions{Sequence: c.Sequence}, c.Dir)
	if err != nil {
		return archive.SetInfo{}, false
	}
	info := have.Newest()
	return info, have.Close() == nil && info.Plan == c.Plan
}

// lookInto finds the newest archive in the folder.
func (l *lineage) lookInto() error {
	have, err := archive.Inspect(l.dir)
	var damage *archive.DamageError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damage) {
		return nil // one that is damaged is not added to, but followed by another
	}
	if err != nil {
		return err
	}
	info := have.Newest()
	l.know(&info)
	l.sound = !slices.ContainsFunc(info.Volumes, func(v archive.VolumeInfo) bool { return v.Problem != "" })
	if l.series = info.Series; l.series == l.name && !l.stranger {
		l.folder = &info
	}
	return have.Close()
}

// know fills in what an encrypted archive does not say of itself, if the history does.
func (l *lineage) know(info *archive.SetInfo) {
	if !info.Locked {
		return
	}
	for _, c := range l.past {
		if c.Set == info.Set {
			info.Series, info.Plan = l.name, c.Plan
		}
	}
	l.stranger = info.Plan == ""
}

// agree refuses a folder with another archive under a number that the history has.
func (l *lineage) agree() error {
	if l.folder == nil {
		return nil
	}
	for _, c := range l.past {
		if c.Sequence == l.folder.Sequence && c.Set != l.folder.Set {
			return requestf("write to another folder, or use the workspace that the one there was written with",
				"%s in %s is not the archive that this workspace wrote of %q under that number", l.folder.Manifest, l.dir, l.name)
		}
	}
	return nil
}

// among says in which archives the content is that is left out after a sequence.
func (l *lineage) among(sequence int) Where {
	w := Where{Last: sequence}
	for _, c := range l.past {
		if c.Full && c.Sequence <= sequence {
			w.First = c.Sequence
		}
	}
	return w
}

// unencrypted reports whether the archive before was encrypted, which this one is not.
func (l *lineage) unencrypted(encrypt *archive.Encryption) bool {
	n := len(l.past)
	return n > 0 && l.past[n-1].Encrypted && encrypt == nil
}

// known reports whether the history has an archive of a sequence.
func (l *lineage) known(sequence int) bool {
	return slices.ContainsFunc(l.past, func(past workspace.Carried) bool { return past.Sequence == sequence })
}

// damaged is the remark on a newest archive that is not built on.
func (l *lineage) damaged() string {
	return fmt.Sprintf("%s in %s is damaged, so that all content is written again", l.folder.Manifest, l.dir)
}
