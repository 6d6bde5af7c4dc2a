package alerts

import "slices"

// Shrink looks for a shorter story that fails still, in at most tries tellings,
// by leaving out ever smaller pieces.
func Shrink(steps []Step, tries int, fails func([]Step) bool) []Step {
	for size := max(len(steps)/2, 1); ; size /= 2 {
		for from := 0; from < len(steps); {
			if tries--; tries < 0 {
				return steps
			}
			shorter := slices.Concat(steps[:from], steps[min(from+size, len(steps)):])
			if fails(shorter) {
				steps = shorter
			} else {
				from += size
			}
		}
		if size <= 1 {
			return steps
		}
	}
}
