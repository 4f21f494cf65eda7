package airgap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// ExportOptions are the options of PrepareExport.
type ExportOptions struct {
	// Dir is the folder that the archive is written to.
	Dir string
	// Archive is how the archive is written. PrepareExport and Run set Base, After and MaySign.
	// Replace decides whether the sets in the folder are removed if the archive builds on nothing.
	Archive archive.Options
	// Since selects what the archive may leave out.
	Since Since
	// Signing decides what may be signed and built on. It is nil if nothing is signed.
	Signing *SigningPolicy
	// Deltas says how blobs are carried as deltas. Nil carries all blobs whole.
	Deltas *DeltaOptions
	// Repeatable keeps what is needed to call Run again with less of the plan, as if failing
	// packages or files are left out. It costs memory: what the site has is as large as the plan.
	Repeatable bool
}

// An Export writes the next archive of a series.
type Export struct {
	opts    ExportOptions
	history *history
	result  *ExportResult // nil until it is complete
	deltas  *DeltaResult  // of the last job
	// before is what the newest archive brought to a site; nil until it was read.
	before *state.Receipt
}

// PrepareExport finds what the next archive of a plan builds on. It adds two kinds of archives to
// the history in the workspace: one that is in the folder and not yet in the history, and one that
// was complete when its run was killed. Options that contradict what is known are an error of kind
// advice.Input, a set that must not be built on is one of kind advice.Mismatch.
func PrepareExport(ctx context.Context, ws *state.Workspace, p *plan.Plan, opts ExportOptions) (*Export, error) {
	if err := setSecret(ctx, ws, opts.Archive.Encrypt); err != nil {
		return nil, err
	}
	l, err := loadHistory(ctx, ws, p.Name, opts.Dir, opts.Since, opts.Signing)
	if err != nil {
		return nil, err
	}
	return &Export{opts: opts, history: l}, nil
}

// setSecret sets the workspace's secret, by which later runs recognize encrypted archives.
func setSecret(ctx context.Context, ws *state.Workspace, e *archive.Encryption) error {
	if e == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var err error
	e.Secret, err = ws.Secret()
	return err
}

// Remark returns why all content is written although the site may have some of it, or which volumes are elsewhere,
// as a sentence without its full stop. It is empty if there is nothing to explain.
func (n *Export) Remark() string { return n.history.remark }

// DropsEncryption reports whether the previous archive is encrypted and this one will not be.
func (n *Export) DropsEncryption() bool {
	l := n.history
	return len(l.exports) > 0 && l.exports[len(l.exports)-1].Encrypted && n.opts.Archive.Encrypt == nil
}

// Result returns the archive. It is nil until the archive is complete.
func (n *Export) Result() *ExportResult { return n.result }

// CheckSeries refuses a plan if the folder has an archive of another name, which would be removed
// once the new one is complete.
func (n *Export) CheckSeries(ctx context.Context, p *plan.Plan) error {
	name := n.folderSeries(ctx)
	if name == "" || name == p.Name {
		return nil
	}
	return advice.New(advice.Input, fmt.Sprintf("write to another folder, or set Options.Name to %s if the new archive replaces the one there", name),
		"file://%s has the archive of another configuration, %q", n.opts.Dir, name)
}

// folderSeries returns the name of the plan of the archive in the folder. It is empty if there is
// no archive, or none that can be mirrored from.
func (n *Export) folderSeries(ctx context.Context) string {
	if n.history.intact { // the folder was inspected
		return n.history.series
	}
	have, err := archive.Inspect(n.opts.Dir)
	if err != nil {
		return ""
	}
	defer func() { _ = have.Close() }() // only read
	text, err := have.OpenPlan(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return have.Selected().Series // its plan is in an earlier archive
	}
	if err != nil {
		return ""
	}
	defer text.Close() // only read
	return planName(text)
}

// planName returns the name in the JSON of a plan, which is near its beginning, or "" if there is
// none.
func planName(text io.Reader) (name string) {
	dec := jsontext.NewDecoder(text)
	_, err := dec.ReadToken()
	for field := ""; err == nil && dec.PeekKind() == '"'; {
		if err = json.UnmarshalDecode(dec, &field); err == nil && field == "name" {
			_ = json.UnmarshalDecode(dec, &name) // a name that is not a string is ignored
			return name
		}
		err = cmp.Or(err, dec.SkipValue())
	}
	return ""
}
