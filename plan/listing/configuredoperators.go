package listing

import (
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// ConfiguredOperators returns the operators of a configuration's installed lists. The lists do not
// contain the generation of OLM, so each operator is returned for both. cfg may be nil.
func ConfiguredOperators(cfg *imageset.Config) []installed.Operator {
	var operators []installed.Operator
	if cfg == nil {
		return nil
	}
	for _, op := range cfg.Mirror.Operators {
		for _, in := range op.Installed {
			operators = append(operators, installed.Of(in, graph.Classic), installed.Of(in, graph.V1))
		}
	}
	return operators
}

// PlatformVersion returns the release that all clusters run, or "" if it is unknown or differs.
func PlatformVersion(s *selection.Selected) string {
	version := ""
	for i, r := range s.Releases {
		if i > 0 && r.Version != version {
			return ""
		}
		version = r.Version
	}
	return version
}
