package explain

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan/sbom"
	"github.com/gantry-mirror/gantry/plan/signing"
)

// The formats of bills of materials.
const (
	CycloneDXJSON = "cyclonedx-json"
	SPDXJSON      = "spdx-json"
)

// BillsOfMaterials returns the formats of BillOfMaterials.
func BillsOfMaterials() []string { return []string{CycloneDXJSON, SPDXJSON} }

// BillOfMaterialsOptions select the plan that BillOfMaterials describes.
type BillOfMaterialsOptions struct {
	Env *env.Env
	// Plan is the file of a plan. The default is the only plan of Workspace.
	Plan string
	// Workspace is the folder with the plan. The default is env.DefaultWorkspace.
	Workspace string
	// Format is CycloneDXJSON, which is the default, or SPDXJSON.
	Format string
	// Version is the version of the program, which is named as the author.
	Version string
}

// BillOfMaterials returns what a plan mirrors as a bill of materials. The same plan gives the same bytes. The time of
// the document is the one in the environment variable SOURCE_DATE_EPOCH, in seconds since 1970, if it is set.
func BillOfMaterials(o BillOfMaterialsOptions) ([]byte, error) {
	e, done := o.Env.OrDefault()
	defer done()
	write := sbom.CycloneDX
	switch o.Format {
	case "", CycloneDXJSON:
	case SPDXJSON:
		write = sbom.SPDX
	default:
		return nil, env.InputHint("give "+strings.Join(BillsOfMaterials(), " or "), "Options.Format %q", o.Format)
	}
	opts := sbom.Options{Version: o.Version}
	if text := e.Variable("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds < 0 || seconds > maxEpoch {
			return nil, env.Inputf("SOURCE_DATE_EPOCH is %q, not a number of seconds", text)
		}
		opts.Created = time.Unix(seconds, 0)
	}
	file, err := (&Options{Plan: o.Plan, Workspace: o.Workspace}).planFile()
	if err != nil {
		return nil, err
	}
	p, err := signing.ReadPlan(file)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = write(&b, p, opts)
	return b.Bytes(), err
}

// maxEpoch is the end of the year 9999: later times cannot be written.
const maxEpoch = 253402300799
