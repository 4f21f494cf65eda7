package contents

import "slices"

// A List is the result of Packages and the other functions of this form. Its JSON is what gantry list prints with --output
// json. Only the member for what was listed is there.
type List struct {
	Version  int       `json:"version"`
	Catalogs []Catalog `json:"catalogs,omitzero"`
	Packages []Package `json:"packages,omitzero"`
	Channels []Channel `json:"channels,omitzero"`
	Bundles  []Bundle  `json:"bundles,omitzero"`
	Images   []Image   `json:"images,omitzero"`
	Files    []File    `json:"files,omitzero"`
	Charts   []Chart   `json:"charts,omitzero"`
	Releases []Release `json:"releases,omitzero"`
}

// unless returns the list, or an error.
func (l *List) unless(err error) (*List, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// with adds a name to a list unless it is empty or there already.
func with(list []string, name string) []string {
	if name == "" || slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}
