package imageset

import "encoding/json"

// Helm are the Helm charts of mirror.helm.
type Helm struct {
	Pos          Position
	Repositories []HelmRepository
	// Local are charts in files or folders: their Path is set.
	Local []Chart
}

// A HelmRepository is a chart repository, and what is selected from it.
type HelmRepository struct {
	Pos  Position
	Name string
	// URL begins with http:// or https://, or with oci:// for the parent of the repositories of charts
	// in a registry.
	URL string
	// Charts is empty for every version of every chart in the index of the repository.
	Charts []Chart
}

// A Chart is one Helm chart of a repository, or a local one. Without Version, Versions and Newest, it is the
// newest version that is no pre-release.
type Chart struct {
	Pos  Position
	Name string
	// Version is a version, or a range whose newest version is selected.
	Version string
	// Versions is a range whose versions are all selected; Newest limits their number.
	Versions string
	Newest   int64
	// Path is the archive or folder of a local chart, as written in the file. A relative path is relative
	// to the working directory, as for oc mirror; so are those of ValuesFiles.
	Path string
	// Values, a JSON object or nil, and ValuesFiles are the values that the chart is rendered with.
	// Values replace what files set.
	Values      json.RawMessage
	ValuesFiles []string
	// KubeVersion and APIVersions are what the chart finds in .Capabilities; APIVersions are added to
	// those that Helm knows.
	KubeVersion string
	APIVersions []string
	// ImagePaths are JSON paths, as kubectl reads them, of images in the rendered chart, in addition
	// to those in pod templates.
	ImagePaths []string
	// Scan is ScanContainers, ScanFields or ScanComplete; "" is ScanComplete.
	Scan          string
	Platforms     []Platform
	PlatformsMode string // as in Operator
}

// The values of a chart's scan: where images are searched in addition to pod templates and ImagePaths.
const (
	ScanContainers = "containers" // nowhere
	ScanFields     = "fields"     // fields of custom resources that look like images
	ScanComplete   = "complete"   // also arguments, variables, annotations and configuration text
)

// SelectsNothing reports whether there are no charts. h may be nil.
func (h *Helm) SelectsNothing() bool { return h == nil || len(h.Repositories)+len(h.Local) == 0 }
