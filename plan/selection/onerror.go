package selection

// What a run does when images are unavailable.
const (
	// OnErrorContinue copies everything else, and does not publish what names such an image.
	OnErrorContinue = "continue"
	// OnErrorPackage also builds catalogs without the packages that name such an image.
	OnErrorPackage = "package"
	// OnErrorStop ends the run.
	OnErrorStop = "stop"
)
