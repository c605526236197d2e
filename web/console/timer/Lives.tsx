/** Earlier lives of the same id: each create after a finish begins a new one. */
import type { ListLivesAnswer } from "@punctual/api/ListLives"
import { useInfiniteQuery } from "@tanstack/react-query"
import { Button } from "../../kit/Button.tsx"
import { Moment } from "../../kit/Moment.tsx"
import { call } from "../../kit/serviceCall.ts"
import { durationText } from "../../kit/times.ts"
import type { Timer } from "../api.ts"
import { StateBadge } from "../timers/StateBadge.tsx"

type LivesPage = typeof ListLivesAnswer.Encoded

const livesPerPage = 20

export const Lives = ({ timer }: { readonly timer: Timer }) => {
  const { namespace, timerId, fireId } = timer
  const { data, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    // A new life has a new fireId, and then the list is another.
    queryKey: ["lives", namespace, timerId, fireId],
    queryFn: ({ pageParam, signal }) =>
      call<LivesPage>(
        "timers/lives",
        { namespace, timerId, limit: livesPerPage, ...(pageParam === "" ? {} : { cursor: pageParam }) },
        signal,
      ),
    initialPageParam: "",
    getNextPageParam: ({ nextCursor }) => nextCursor ?? null,
  })
  const earlier = data?.pages.flatMap(({ lives }) => lives).filter((life) => life.fireId !== fireId) ?? []
  if (earlier.length === 0) return null
  return (
    <section className="card" aria-labelledby="lives-title">
      <header className="card-head">
        <h2 id="lives-title">Earlier lives of this id</h2>
      </header>
      <div className="table-scroll">
        <table className="table">
          <thead>
            <tr>
              <th>State</th>
              <th>Due</th>
              <th>Finished</th>
              <th className="number">Attempts</th>
              <th className="number">Lateness</th>
            </tr>
          </thead>
          <tbody>
            {earlier.map((life) => (
              <tr key={life.fireId}>
                <td>
                  <StateBadge timer={life} />
                </td>
                <td>
                  <Moment at={life.executeAt} show="exact" />
                </td>
                <td>{life.finishedAt !== undefined && <Moment at={life.finishedAt} show="exact" />}</td>
                <td className="number">{life.attempts}</td>
                <td className="number">
                  {life.latenessMs === undefined ? "" : durationText(life.latenessMs)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {hasNextPage && (
        <footer className="list-end">
          <Button isSmall disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Show earlier ones
          </Button>
        </footer>
      )}
    </section>
  )
}
