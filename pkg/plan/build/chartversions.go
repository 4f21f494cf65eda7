package build

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/chart"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// selectVersions returns the versions that an entry selects. It is an error if there are none.
func selectVersions(entry *imageset.Chart, repository string, versions []string) ([]string, error) {
	some, err := chart.Selection{Version: entry.Version, Versions: entry.Versions, Newest: int(entry.Newest)}.Select(versions)
	if err != nil {
		return nil, inputErrorf("%s: chart %s: %w", entry.Pos, entry.Name, err)
	}
	if len(some) > 0 {
		return some, nil
	}
	wanted := "the version " + entry.Version
	switch {
	case entry.Versions != "":
		wanted = "a version in the range " + entry.Versions
	case entry.Version == "":
		wanted = "a version that is no pre-release; set version, or versions to \">=0.0.0-0\""
	}
	return nil, inputErrorf("%s: chart %s of %s does not have %s%s", entry.Pos, entry.Name, redact.Address(repository), wanted, newestOf(versions))
}

// newestOf lists the newest versions for an error.
func newestOf(versions []string) string {
	newest, err := chart.Selection{Versions: ">=0.0.0-0", Newest: maxListed}.Select(versions)
	if err != nil || len(newest) == 0 {
		return ""
	}
	return "; the newest are " + strings.Join(newest, ", ")
}
