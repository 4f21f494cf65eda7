package validate

// A Rule is the name of a requirement of OLM.
type Rule string

// The rules, with what violates them.
const (
	PackageName      Rule = "package-name"      // an olm.package without a name, or whose name is not a DNS label
	PackageDuplicate Rule = "package-duplicate" // two olm.package objects of one name
	PackageUnknown   Rule = "package-unknown"   // an object that names no package, or a package without an olm.package
	PackageChannels  Rule = "package-channels"  // a package without a channel

	DefaultChannel Rule = "default-channel" // not set, or no channel has that name

	ChannelName      Rule = "channel-name"      // an olm.channel without a name
	ChannelDuplicate Rule = "channel-duplicate" // two channels of one name in a package
	ChannelEmpty     Rule = "channel-empty"     // a channel without entries
	ChannelHeads     Rule = "channel-heads"     // no entry, or more than one, that no other replaces or skips
	ChannelCycle     Rule = "channel-cycle"     // entries that replace each other in a cycle
	ChannelStranded  Rule = "channel-stranded"  // entries that cannot be reached from the head, nor are skipped
	EntryDuplicate   Rule = "entry-duplicate"   // two entries of one name in a channel
	EntryBundle      Rule = "entry-bundle"      // an entry without a name, or without an olm.bundle
	EntrySkip        Rule = "entry-skip"        // an empty name among the skips
	EntrySkipRange   Rule = "entry-skip-range"  // a skipRange that is not a range

	BundleDuplicate Rule = "bundle-duplicate" // two bundles of one name in a package
	BundleName      Rule = "bundle-name"      // a bundle without a name, or with a release and a name that does not match it
	BundleOrphan    Rule = "bundle-orphan"    // a bundle that is in no channel
	BundleProperty  Rule = "bundle-property"  // a property whose value does not fit its type
	BundlePackage   Rule = "bundle-package"   // not exactly one olm.package property, or one that names another package
	BundleVersion   Rule = "bundle-version"   // an invalid version or release, or both build metadata and a release
	BundleImage     Rule = "bundle-image"     // no image and no manifests, or an image that is not a reference
	RelatedImage    Rule = "related-image"    // a related image that is not a reference
	SubstituteCycle Rule = "substitute-cycle" // bundles that substitute each other in a cycle; only a Validator finds it
	VersionTwice    Rule = "version-twice"    // two bundles of one version in a package

	DeprecationTwice  Rule = "deprecation-twice"  // two olm.deprecations of a package, or two entries about the same object
	DeprecationTarget Rule = "deprecation-target" // an entry whose target does not exist or cannot be deprecated
	DeprecationText   Rule = "deprecation-text"   // an entry without a message
)
