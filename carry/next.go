package carry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// Options say how the next archive of a series is written.
type Options struct {
	// Dir is the folder that it is written to.
	Dir string
	// Archive is how. Base, After and Known are found out; Replace says what becomes of
	// the sets in the folder where nothing is built on.
	Archive archive.Options
	// Since says what it may leave out.
	Since Since
	// Voucher says what may be signed and built on; nil where nothing is signed.
	Voucher *Voucher
	// Again says that less of the plan may be carried out after it, as with
	// --on-error package, so that what the site has has to be known then, too.
	Again bool
}

// Next is the next archive of a series.
type Next struct {
	opts    Options
	lineage *lineage
	written *Written // once it is complete
}

// Prepare finds what the next archive of a plan builds on. An archive in the folder of
// which the history in the workspace knows nothing, and one that was complete when its
// run was killed, are entered there. What was asked for and does not go together is a
// *RequestError, what must not be built on a *MismatchError.
func Prepare(ctx context.Context, ws *workspace.Workspace, p *plan.Plan, opts Options) (*Next, error) {
	if err := encryptTo(ctx, ws, opts.Archive.Encrypt); err != nil {
		return nil, err
	}
	l, err := trace(ctx, ws, p.Name, opts.Dir, opts.Since, opts.Voucher)
	if err != nil {
		return nil, err
	}
	return &Next{opts: opts, lineage: l}, nil
}

// encryptTo has archives that are to be written known again by this workspace.
func encryptTo(ctx context.Context, ws *workspace.Workspace, e *archive.Encryption) error {
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

// Remark says why more is written than what is new, as a sentence without its end; ""
// where it goes without saying.
func (n *Next) Remark() string { return n.lineage.remark }

// Unencrypted reports whether the archive before this one is encrypted, and this one
// will not be.
func (n *Next) Unencrypted() bool { return n.lineage.unencrypted(n.opts.Archive.Encrypt) }

// Written is the archive, once it is complete; nil before.
func (n *Next) Written() *Written { return n.written }

// Admit refuses a plan of another name than that of the archive in the folder, which
// would be removed once the new one is complete.
func (n *Next) Admit(ctx context.Context, p *plan.Plan) error {
	name := n.holds(ctx)
	if name == "" || name == p.Name {
		return nil
	}
	return requestf(fmt.Sprintf("write to another folder, or say --name %s where this one takes the place of that one", name),
		"file://%s holds the archive of another configuration, %q", n.opts.Dir, name)
}

// holds is the name of the plan of the archive in the folder; "" where there is
// none, or none that could be mirrored from.
func (n *Next) holds(ctx context.Context) string {
	if n.lineage.sound { // it was looked into for that
		return n.lineage.series
	}
	have, err := archive.Inspect(n.opts.Dir)
	if err != nil {
		return ""
	}
	defer func() { _ = have.Close() }() // only read from
	text, err := have.OpenPlan(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return have.Newest().Series // its plan is in an earlier one
	}
	if err != nil {
		return ""
	}
	defer text.Close() // only read from
	return planName(text)
}

// planName is the name in the JSON of a plan, which stands near its beginning; ""
// where there is none.
func planName(text io.Reader) string {
	dec := json.NewDecoder(text)
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	for dec.More() {
		field, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return ""
		}
		if field == "name" {
			var name string
			_ = json.Unmarshal(value, &name) // what is no text is no name
			return name
		}
	}
	return ""
}
