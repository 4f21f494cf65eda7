// Package render is the messages between gantry and gantry-helm, the program that renders charts:
// requests and responses, each a JSON object on a line of its own.
package render

// ProtocolVersion is the version of the messages between gantry and gantry-helm. Both programs have
// to have the same one.
const ProtocolVersion = 2

// A Request asks for the images of one chart. Requests and responses are JSON objects, one for each
// line, on the standard input and output of gantry-helm.
type Request struct {
	Version int `json:"version"`
	// Chart is the archive of the chart, as helm package writes it.
	Chart []byte `json:"chart"`
	// Values are merged in order: each replaces what earlier ones set.
	Values []Values `json:"values,omitempty"`
	// KubeVersion and APIVersions are those of .Capabilities, as for helm template; APIVersions are
	// added to those that Helm knows.
	KubeVersion string   `json:"kubeVersion,omitempty"`
	APIVersions []string `json:"apiVersions,omitempty"`
	// ImagePaths are JSON paths, as kubectl reads them, of images in any rendered object.
	ImagePaths []string `json:"imagePaths,omitempty"`
	// ScanFields also returns what fields of custom resources contain that look like images.
	ScanFields bool `json:"scanFields,omitempty"`
	// ScanComplete also returns what arguments, variables, annotations and configuration text name, and as
	// Possible what may be an image.
	ScanComplete bool `json:"scanComplete,omitempty"`
	// Manifests also returns the text that helm template prints.
	Manifests bool `json:"manifests,omitempty"`
}

// Values is a file of values, or the values of a configuration as YAML or JSON.
type Values struct {
	Name string `json:"name"` // for messages
	Data []byte `json:"data"`
}

// A Response is the images of a chart, or an error.
type Response struct {
	Version int    `json:"version"`
	Error   *Error `json:"error,omitempty"`
	// Images are what the rendered chart names, sorted, each once.
	Images []Image `json:"images,omitempty"`
	// Possible are references that may be images which the chart uses, sorted. They may lack a tag.
	Possible []Image `json:"possible,omitempty"`
	// Notes are messages for the user.
	Notes []string `json:"notes,omitempty"`
	// Manifests is what helm template prints, if it was requested.
	Manifests string `json:"manifests,omitempty"`
}

// An Image is an image as the chart names it, and the first object that does: "Deployment web", or
// "argument --image of Deployment web".
type Image struct {
	Name  string `json:"name"`
	Owner string `json:"owner,omitempty"`
}

// The kinds of errors.
const (
	// ChartError is an error of the chart: it cannot be read, or does not render with the values.
	ChartError = "chart"
	// InputError is an error in what the configuration sets: values, imagePaths, kubeVersion.
	InputError = "input"
)

// An Error is why a chart was not rendered.
type Error struct {
	Kind    string `json:"kind"` // ChartError or InputError
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// The exit statuses of gantry-helm that have a meaning.
const (
	// ExitMemory means that a chart needed more memory than allowed.
	ExitMemory = 64
	// ExitTime means that a chart took longer than allowed.
	ExitTime = 65
)

// MaxRequest and MaxResponse are the maximum sizes of a request and a response in bytes.
const (
	MaxRequest  = 96 << 20
	MaxResponse = 64 << 20
)
