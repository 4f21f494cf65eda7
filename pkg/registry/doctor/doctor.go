// Package doctor finds out how a registry is reached and what it is able to do.
//
// A Finding is one line of the result: what was looked at, whether it is as Gantry needs it, and what
// to do otherwise. Connection looks at the network, TLS, the clock and announced limits with one
// request. Abilities pushes a few small artifacts to one repository and to one below it, reads them
// back, and deletes them. Workspace looks at the folder of the workspace. Nothing in a finding is
// secret: credentials are described by their kind and the file they come from.
//
// A registry that is not able to do something is a warning if Gantry works without it, and a problem
// if content cannot be mirrored.
package doctor

// A State says how bad a finding is.
type State string

const (
	// OK means that nothing has to be done.
	OK State = "ok"
	// Warning means that mirroring works, with a restriction.
	Warning State = "warning"
	// Problem means that mirroring fails.
	Problem State = "problem"
	// Skipped means that it was not looked at.
	Skipped State = "skipped"
)

// A Finding is one line of the result.
type Finding struct {
	// Area is "registry", "tls", "credentials", "clock", "abilities", "workspace" or "configuration".
	Area string `json:"area"`
	// Name is what was looked at, such as "nested paths".
	Name  string `json:"name"`
	State State  `json:"state"`
	// Text is what was found, and Remedy what to do; "" for nothing.
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}
