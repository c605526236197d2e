/** Jobs on many timers: what each one does, who started it and why, and how far it is. */
import { usePlace } from "../location.ts"
import { JobDetails } from "./JobDetails.tsx"
import { JobList } from "./JobList.tsx"
import "../bulk/bulk.css"
import "./dead.css"

const JobsPage = () => {
  const id = usePlace().parameters.get("id")
  return id === null ? <JobList /> : <JobDetails jobId={id} />
}

export default JobsPage
